//! From words to a syntax tree: the grammar of CEL (its language definition, "Syntax").
//!
//! By recursive descent with precedences, of our own: the parser of the `cel` crate has no bounds, so
//! that a text of 125 bytes can take all memory. Here, a tree deeper than [`DEPTH_MAX`] is refused
//! while it is built, and time is linear in the text.

use super::error::{WhenError, WhenErrorKind};
use super::limits::DEPTH_MAX;
use super::token::{Token, Word, tokens};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One node of the syntax tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    depth: usize,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Name(String),
    Select(Box<Node>, Field),
    Index(Box<Node>, Box<Node>),
    Call { target: Option<Box<Node>>, name: Field, args: Vec<Node> },
    Not(Box<Node>),
    Neg(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    If(Box<[Node; 3]>),
}

/// A field's or function's name and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

/// An operator between two values, `&&` and `||` aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Words that CEL keeps for itself: no variable may be called so.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Reads a condition.
pub(super) fn parse(source: &str) -> Result<Node, WhenError> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, nesting: 0 };
    let node = parser.expression()?;
    if *parser.word() == Word::End {
        return Ok(node);
    }
    Err(parser.unexpected("join conditions by `&&` or `||`"))
}

/// A sign between two values.
enum BinarySign {
    Or,
    And,
    Operator(Operator),
}

/// The level of `||`, which binds least.
const LOWEST: u8 = 1;

/// The sign that a word is, and how strongly it binds.
fn sign(word: &Word) -> Option<(BinarySign, u8)> {
    let (operator, level) = match word {
        Word::Sign("||") => return Some((BinarySign::Or, LOWEST)),
        Word::Sign("&&") => return Some((BinarySign::And, 2)),
        Word::Sign("==") => (Operator::Equal, 3),
        Word::Sign("!=") => (Operator::NotEqual, 3),
        Word::Sign("<") => (Operator::Less, 3),
        Word::Sign("<=") => (Operator::LessOrEqual, 3),
        Word::Sign(">") => (Operator::Greater, 3),
        Word::Sign(">=") => (Operator::GreaterOrEqual, 3),
        Word::Name(name) if name == "in" => (Operator::In, 3),
        Word::Sign("+") => (Operator::Add, 4),
        Word::Sign("-") => (Operator::Subtract, 4),
        Word::Sign("*") => (Operator::Multiply, 5),
        Word::Sign("/") => (Operator::Divide, 5),
        Word::Sign("%") => (Operator::Remainder, 5),
        _ => return None,
    };
    Some((BinarySign::Operator(operator), level))
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
}

static END: Token = Token { span: 0..0, word: Word::End };

impl Parser {
    fn token(&self) -> &Token {
        self.tokens.get(self.at).or(self.tokens.last()).unwrap_or(&END)
    }

    fn word(&self) -> &Word {
        &self.token().word
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.word(), Word::Sign(found) if *found == sign)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), WhenError> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected(&format!("expected `{sign}`"))) }
    }

    fn unexpected(&self, remedy: &str) -> WhenError {
        let token = self.token();
        let message = match &token.word {
            Word::Name(name) => format!("unexpected `{name}`"),
            Word::Sign(sign) => format!("unexpected `{sign}`"),
            Word::End => "the condition ends too early".to_owned(),
            Word::Quoted(_) => "unexpected field name in backticks".to_owned(),
            Word::Text(_) => "unexpected text".to_owned(),
            Word::Int(_) | Word::UInt(_) | Word::Double(_) => "unexpected number".to_owned(),
        };
        WhenError::new(WhenErrorKind::Syntax, &token.span, message, remedy)
    }

    /// A node over its children, unless the tree is too deep.
    fn node<'n>(
        start: usize,
        end: usize,
        kind: Kind,
        children: impl IntoIterator<Item = &'n Node>,
    ) -> Result<Node, WhenError> {
        let below = children.into_iter().map(|child| child.depth).max().unwrap_or(0);
        Parser::check_depth(below + 1, &(start..end))?;
        Ok(Node { span: start..end, kind, depth: below + 1 })
    }

    fn check_depth(depth: usize, span: &Range<usize>) -> Result<(), WhenError> {
        if depth <= DEPTH_MAX {
            return Ok(());
        }
        Err(WhenError::new(
            WhenErrorKind::TooLarge,
            span,
            format!("condition nested deeper than {DEPTH_MAX} levels"),
            "split the hook, or compare with a list: `x in [..]`",
        ))
    }

    fn end(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |token| token.span.end)
    }

    fn expression(&mut self) -> Result<Node, WhenError> {
        self.nesting += 1;
        Parser::check_depth(self.nesting, &self.token().span)?;
        let condition = self.binary(LOWEST)?;
        let node = if self.eat("?") {
            let yes = self.binary(LOWEST)?;
            self.expect(":")?;
            let no = self.expression()?;
            let (start, end) = (condition.span.start, no.span.end);
            let depth = condition.depth.max(yes.depth).max(no.depth) + 1;
            Parser::check_depth(depth, &(start..end))?;
            let kind = Kind::If(Box::new([condition, yes, no]));
            Node { span: start..end, kind, depth }
        } else {
            condition
        };
        self.nesting -= 1;
        Ok(node)
    }

    /// Operators of this level and above, by precedence climbing: few frames for each level of
    /// nesting, so that a small stack is enough.
    fn binary(&mut self, level: u8) -> Result<Node, WhenError> {
        let mut left = self.unary()?;
        while let Some((sign, found)) = sign(self.word())
            && found >= level
        {
            left = match sign {
                BinarySign::Or => self.joined(left, "||", found)?,
                BinarySign::And => self.joined(left, "&&", found)?,
                BinarySign::Operator(operator) => {
                    self.at += 1;
                    let right = self.binary(found + 1)?;
                    let (start, end) = (left.span.start, right.span.end);
                    let depth = left.depth.max(right.depth) + 1;
                    Parser::check_depth(depth, &(start..end))?;
                    let kind = Kind::Binary(operator, Box::new(left), Box::new(right));
                    Node { span: start..end, kind, depth }
                }
            };
        }
        Ok(left)
    }

    /// All sides of a chain of `&&` or `||`.
    fn joined(&mut self, first: Node, sign: &str, level: u8) -> Result<Node, WhenError> {
        let mut depth = first.depth;
        let start = first.span.start;
        let mut nodes = vec![first];
        while self.eat(sign) {
            let node = self.binary(level + 1)?;
            depth = depth.max(node.depth);
            nodes.push(node);
        }
        let span = start..self.end();
        Parser::check_depth(depth + 1, &span)?;
        let kind = if sign == "&&" { Kind::And(nodes) } else { Kind::Or(nodes) };
        Ok(Node { span, kind, depth: depth + 1 })
    }

    fn unary(&mut self) -> Result<Node, WhenError> {
        let start = self.token().span.start;
        let sign = if self.is("!") { "!" } else { "-" };
        let mut signs = 0usize;
        while self.eat(sign) {
            signs += 1;
        }
        let mut node = if signs > 0
            && sign == "-"
            && let Some(negative) = self.negative_number(start)?
        {
            signs -= 1;
            self.member_of(negative)?
        } else {
            self.member()?
        };
        for _ in 0..signs {
            let (end, depth) = (node.span.end, node.depth + 1);
            Parser::check_depth(depth, &(start..end))?;
            let inner = Box::new(node);
            let kind = if sign == "!" { Kind::Not(inner) } else { Kind::Neg(inner) };
            node = Node { span: start..end, kind, depth };
        }
        Ok(node)
    }

    /// The number behind a minus, with it: only so can the smallest integer be written.
    fn negative_number(&mut self, start: usize) -> Result<Option<Node>, WhenError> {
        let kind = match *self.word() {
            Word::Int(value) => Kind::Int(0i64.checked_sub_unsigned(value).unwrap_or(i64::MIN)),
            Word::Double(value) => Kind::Double(-value),
            _ => return Ok(None),
        };
        self.at += 1;
        Parser::node(start, self.end(), kind, []).map(Some)
    }

    fn member(&mut self) -> Result<Node, WhenError> {
        let node = self.primary()?;
        self.member_of(node)
    }

    fn member_of(&mut self, mut node: Node) -> Result<Node, WhenError> {
        loop {
            let (start, depth) = (node.span.start, node.depth);
            let mut below = 0;
            let kind = if self.eat(".") {
                if self.is("?") {
                    return Err(self.unexpected("guard the field with `has()` instead of `.?`"));
                }
                let name = self.field()?;
                if self.eat("(") {
                    let args = self.list(")")?;
                    below = args.iter().map(|arg| arg.depth).max().unwrap_or(0);
                    Kind::Call { target: Some(Box::new(node)), name, args }
                } else {
                    Kind::Select(Box::new(node), name)
                }
            } else if self.eat("[") {
                let index = self.expression()?;
                self.expect("]")?;
                below = index.depth;
                Kind::Index(Box::new(node), Box::new(index))
            } else {
                return Ok(node);
            };
            let (end, depth) = (self.end(), depth.max(below) + 1);
            Parser::check_depth(depth, &(start..end))?;
            node = Node { span: start..end, kind, depth };
        }
    }

    fn field(&mut self) -> Result<Field, WhenError> {
        let token = self.token();
        let name = match &token.word {
            Word::Name(name) if !matches!(name.as_str(), "in" | "true" | "false" | "null") => name,
            Word::Quoted(name) => name,
            _ => return Err(self.unexpected("a field's name stands behind a point")),
        };
        let field = Field { name: name.clone(), span: token.span.clone() };
        self.at += 1;
        Ok(field)
    }

    /// Expressions up to `close`, with a comma between them and perhaps behind the last.
    fn list(&mut self, close: &'static str) -> Result<Vec<Node>, WhenError> {
        let mut nodes = Vec::new();
        while !self.eat(close) {
            nodes.push(self.expression()?);
            if !self.eat(",") {
                self.expect(close)?;
                break;
            }
            if close == ")" && self.is(close) {
                return Err(self.unexpected("remove the last comma"));
            }
        }
        Ok(nodes)
    }

    fn primary(&mut self) -> Result<Node, WhenError> {
        let token = self.token().clone();
        let start = token.span.start;
        self.at += 1;
        let kind = match token.word {
            Word::Text(text) => Kind::Text(text),
            Word::Int(value) => match i64::try_from(value) {
                Ok(value) => Kind::Int(value),
                Err(_) => {
                    self.at -= 1;
                    return Err(self.unexpected("integers have 64 bits"));
                }
            },
            Word::UInt(value) => Kind::UInt(value),
            Word::Double(value) => Kind::Double(value),
            Word::Name(name) => return self.name(name, &token.span),
            Word::Sign("(") => {
                let mut node = self.expression()?;
                self.expect(")")?;
                node.span = start..self.end();
                return Ok(node);
            }
            Word::Sign("[") => {
                let items = self.list("]")?;
                let depth = items.iter().map(|item| item.depth).max().unwrap_or(0) + 1;
                Parser::check_depth(depth, &token.span)?;
                return Ok(Node { span: start..self.end(), kind: Kind::List(items), depth });
            }
            Word::Sign("{") => return self.map(start),
            Word::Sign(_) | Word::Quoted(_) | Word::End => {
                self.at -= 1;
                return Err(self.unexpected("a value is missing here"));
            }
        };
        Parser::node(start, self.end(), kind, [])
    }

    fn name(&mut self, name: String, span: &Range<usize>) -> Result<Node, WhenError> {
        let kind = match name.as_str() {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            "in" => {
                self.at -= 1;
                return Err(self.unexpected("a value is missing before `in`"));
            }
            word if RESERVED.contains(&word) => {
                self.at -= 1;
                return Err(self.unexpected("this word is reserved in CEL"));
            }
            _ if self.eat("(") => {
                let args = self.list(")")?;
                let depth = args.iter().map(|arg| arg.depth).max().unwrap_or(0) + 1;
                Parser::check_depth(depth, span)?;
                let name = Field { name, span: span.clone() };
                let kind = Kind::Call { target: None, name, args };
                return Ok(Node { span: span.start..self.end(), kind, depth });
            }
            _ => Kind::Name(name),
        };
        Parser::node(span.start, self.end(), kind, [])
    }

    fn map(&mut self, start: usize) -> Result<Node, WhenError> {
        let mut entries = Vec::new();
        let mut below = 0;
        while !self.eat("}") {
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            below = below.max(key.depth).max(value.depth);
            entries.push((key, value));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        Parser::check_depth(below + 1, &(start..self.end()))?;
        Ok(Node { span: start..self.end(), kind: Kind::Map(entries), depth: below + 1 })
    }
}

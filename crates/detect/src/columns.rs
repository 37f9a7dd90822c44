//! Columns: the cells that stand under the name of a column, in CSV, tables and rows of SQL.
//!
//! A row that names columns (`name,password`, `| user | phone |`, `INSERT INTO t (id, ssn) VALUES`) makes every
//! cell of such a column read as if the name stood before it. The rows may be any number and a stream lets them
//! go one by one, so what is known of a table is carried along: its columns and how far its row has come, not its
//! text. A table ends with the first row that has another number of cells. Cells never cross the end of a unit.

use crate::ascii::{at, before, cut, cut_str};
use crate::keys;
use crate::pii::is_personal_name;
use crate::unit::Units;

/// Longest row of names, in bytes.
const HEADING_BYTES_MAX: usize = 512;
/// Longest name of a column, in bytes.
const NAME_BYTES_MAX: usize = 40;
/// How many words may stand before or behind the one that speaks in a name.
const NAME_WORDS_MAX: usize = 2;
/// Most columns of a table.
const COLUMNS_MAX: usize = 64;
/// Longest cell that is read, in bytes.
const CELL_BYTES_MAX: usize = 256;

/// How rows and cells are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A row a line; the byte stands between the cells. The bar of a table may also stand at both ends.
    Lines(u8),
    /// `(1, 'a'), (2, 'b');`
    Tuples,
}

/// What is known of the table that a text is in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// How many bytes before the end of what was read a row began that may name columns.
    heading: Option<usize>,
    rows: Option<Rows>,
}

#[derive(Debug, Clone)]
struct Rows {
    form: Form,
    /// The names of the columns whose cells are read.
    heads: Vec<Option<String>>,
    column: usize,
    /// The quote that is open.
    quote: Option<u8>,
    /// Whether the row is a rule between rows so far.
    ruler: bool,
    /// Inside the brackets of a tuple.
    inside: bool,
    /// Between bars at both ends, as prose has tables: plain words describe there.
    prose: bool,
}

/// A cell under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell<'a> {
    pub(crate) head: &'a str,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Whether the name at `name` may be that of a column: it is a cell of a row of names.
pub(crate) fn heads_column(bytes: &[u8], name: (usize, usize)) -> bool {
    let part = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || **byte >= 0x80
            || matches!(byte, b' ' | b'_' | b'-' | b'.' | b'/' | b'"' | b'`' | b'[' | b']')
    };
    let head = cut(bytes, name.0.saturating_sub(NAME_BYTES_MAX), name.0);
    let left = name.0 - head.iter().rev().take_while(part).count();
    let tail = cut(bytes, name.1, (name.1 + NAME_BYTES_MAX).min(bytes.len()));
    let right = name.1 + tail.iter().take_while(part).count();
    // A name is a few words; between more of them commas stand in prose.
    let words = |from, to| cut(bytes, from, to).trim_ascii().split(|byte| *byte == b' ').count();
    if words(left, name.0) > NAME_WORDS_MAX || words(name.1, right) > NAME_WORDS_MAX {
        return false;
    }
    let separates = |byte: u8| matches!(byte, b',' | b';' | b'\t' | b'|');
    let (first, last) = (before(bytes, left), at(bytes, right));
    let opens = separates(first) || matches!(first, 0 | b'\n' | b'(');
    let closes = separates(last) || matches!(last, b'\n' | b'\r' | b')');
    opens && closes && (separates(first) || separates(last))
}

impl Table {
    /// Reads on from `origin`. `candidates` are places of names that may be those of columns, in order; `headings`
    /// takes the rows of names that are one unit.
    pub(crate) fn read(
        &mut self,
        text: &str,
        origin: usize,
        candidates: &[usize],
        headings: &mut Vec<std::ops::Range<usize>>,
        mut found: impl FnMut(Cell<'_>),
    ) {
        let mut place = origin;
        let mut names = candidates.iter().copied().filter(|name| *name >= origin);
        let mut line = self.heading.take().map(|back| origin.saturating_sub(back));
        while place < text.len() {
            if let Some(rows) = &mut self.rows {
                let goes_on;
                (place, goes_on) = rows.read(text, place, &mut found);
                self.rows = self.rows.take().filter(|_| goes_on);
            } else if let Some(start) = line.take() {
                let Some((rows, next)) = heading(text, start, place) else {
                    self.heading = Some(text.len() - start);
                    return;
                };
                if rows.is_some() && !cut_str(text, start, next).contains("\",") {
                    headings.push(start..next);
                }
                (self.rows, place) = (rows, next);
            } else {
                let Some(name) = names.find(|name| *name >= place) else { return };
                line = line_start(text.as_bytes(), name);
                place = if line.is_some() { name } else { name + 1 };
            }
        }
    }
}

/// Where the line of `place` begins, when that is near.
fn line_start(bytes: &[u8], place: usize) -> Option<usize> {
    let low = place.saturating_sub(HEADING_BYTES_MAX);
    match memchr::memrchr(b'\n', cut(bytes, low, place)) {
        Some(line) => Some(low + line + 1),
        None => (low == 0).then_some(0),
    }
}

/// The table under the row of names that began at `line`, read on from `place`, and where its rows begin. The
/// outer `None`: the row is not over yet.
fn heading(text: &str, line: usize, place: usize) -> Option<(Option<Rows>, usize)> {
    let all = text.len();
    let end = memchr::memchr(b'\n', cut(text.as_bytes(), place, all)).map(|end| place + end);
    let row = cut_str(text, line, end.unwrap_or(all));
    if let Some((names, form, behind)) = statement(row) {
        let rows = Rows::of(names, form, b',');
        let tuples = form == Form::Tuples;
        let next = if tuples { Some((line + behind).max(place)) } else { end.map(|end| end + 1) };
        return Some((rows, next?));
    }
    let next = end? + 1;
    if row.len() > HEADING_BYTES_MAX {
        return Some((None, next));
    }
    let separator = *[b'\t', b'|', b';', b','].iter().find(|sign| row.as_bytes().contains(sign))?;
    Some((Rows::of(row, Form::Lines(separator), separator), next))
}

/// The names of columns in `INSERT INTO t (a, b) VALUES` and `COPY t (a, b) FROM stdin;`, and where they end.
fn statement(row: &str) -> Option<(&str, Form, usize)> {
    let bytes = row.as_bytes();
    let verb = |word: &[u8]| cut(bytes, 0, word.len()).eq_ignore_ascii_case(word);
    let form = if verb(b"INSERT ") || verb(b"REPLACE ") {
        Form::Tuples
    } else if verb(b"COPY ") {
        Form::Lines(b'\t')
    } else {
        return None;
    };
    let open = memchr::memchr(b'(', cut(bytes, 0, HEADING_BYTES_MAX))?;
    let close = open + memchr::memchr(b')', cut(bytes, open, open + HEADING_BYTES_MAX))?;
    Some((cut_str(row, open + 1, close), form, close + 1))
}

/// The name that a cell of a row of names holds; `None`: it is no name.
fn name_of(cell: &str) -> Option<&str> {
    let name = cell
        .trim_matches(|char: char| char.is_ascii_whitespace() || "\"'`*[]\u{feff}".contains(char));
    let part = |char: char| char.is_alphanumeric() || " _-./()#".contains(char);
    let lettered = name.chars().any(char::is_alphabetic);
    (name.len() <= NAME_BYTES_MAX && lettered && name.chars().all(part)).then_some(name)
}

impl Rows {
    /// The columns that a row names, when some of them are worth reading.
    fn of(row: &str, form: Form, separator: u8) -> Option<Self> {
        let bar = separator == b'|';
        let row = row.trim_end_matches(['\r', '\n']);
        let comma = form == Form::Lines(b',') && !row.contains('"');
        // `a, b` is prose or code, and so is what is indented.
        if comma && (row.contains(", ") || row.starts_with([' ', '\t'])) {
            return None;
        }
        let cells: Vec<&str> = row.split(char::from(separator)).collect();
        let last = cells.len() - 1;
        if !(1..COLUMNS_MAX).contains(&last) {
            return None;
        }
        let mut heads = Vec::with_capacity(cells.len());
        for (place, cell) in cells.into_iter().enumerate() {
            let edge = bar && (place == 0 || place == last) && cell.trim().is_empty();
            let name = if edge { "" } else { name_of(cell)? };
            let worth = keys::strength_of(name).is_some() || is_personal_name(name);
            heads.push(worth.then(|| name.to_owned()));
        }
        let any = heads.iter().any(Option::is_some);
        let prose = bar && row.starts_with('|');
        any.then_some(Self {
            form,
            heads,
            column: 0,
            quote: None,
            ruler: true,
            inside: false,
            prose,
        })
    }

    /// Reads on to the end of the text or of the table: where, and whether the table goes on.
    fn read(&mut self, text: &str, from: usize, found: &mut impl FnMut(Cell<'_>)) -> (usize, bool) {
        let mut units = Units::new(text.as_bytes(), from);
        let mut place = from;
        while place < text.len() {
            let (_, end) = units.at(place);
            let ended = match self.form {
                Form::Lines(separator) => self.lines(text, place, end, separator, found),
                Form::Tuples => self.tuples(text, place, end, found),
            };
            if let Some(at_end) = ended {
                return (at_end, false);
            }
            place = end;
        }
        (place, true)
    }

    /// Reads the rows of one unit; answers where the table ends, if it does.
    fn lines(
        &mut self,
        text: &str,
        from: usize,
        to: usize,
        separator: u8,
        found: &mut impl FnMut(Cell<'_>),
    ) -> Option<usize> {
        let mut cell = from;
        for (place, byte) in text.as_bytes().iter().enumerate().take(to).skip(from) {
            let opens = *byte == b'"' && place == cell && matches!(separator, b',' | b';');
            self.ruler &= matches!(byte, b'-' | b'+' | b'|' | b':' | b'=' | b' ' | b'\r' | b'\n');
            if *byte == b'\n' {
                self.cell(text, cell, place, found);
                cell = place + 1;
                let whole = self.column + 1 == self.heads.len();
                if !(whole || self.ruler && separator == b'|' && place > from) {
                    return Some(place + 1);
                }
                (self.column, self.quote, self.ruler) = (0, None, true);
            } else if self.quote == Some(*byte) {
                self.quote = None;
            } else if self.quote.is_some() {
            } else if opens {
                self.quote = Some(b'"');
            } else if *byte == separator {
                self.cell(text, cell, place, found);
                cell = place + 1;
                self.column += 1;
            }
        }
        self.cell(text, cell, to, found);
        None
    }

    /// Reads the tuples of one unit; answers where the statement ends, if it does.
    fn tuples(
        &mut self,
        text: &str,
        from: usize,
        to: usize,
        found: &mut impl FnMut(Cell<'_>),
    ) -> Option<usize> {
        let mut cell = from;
        let mut escaped = false;
        for (place, byte) in text.as_bytes().iter().enumerate().take(to).skip(from) {
            if self.quote.is_some() {
                let closes = self.quote == Some(*byte) && !escaped;
                escaped = *byte == b'\\' && !escaped;
                if closes {
                    self.quote = None;
                }
                continue;
            }
            match (self.inside, byte) {
                (true, b'\'' | b'"') => self.quote = Some(*byte),
                (true, b',' | b')') => {
                    self.cell(text, cell, place, found);
                    cell = place + 1;
                    self.column += 1;
                    self.inside = *byte == b',';
                }
                (true, _) => {}
                (false, b'(') => (self.inside, self.column, cell) = (true, 0, place + 1),
                (false, b',') | (false, b' ' | b'\n' | b'\r' | b'\t') => {}
                (false, byte) if b"VALUESvalues".contains(byte) => {}
                (false, _) => return Some(place),
            }
        }
        if self.inside {
            self.cell(text, cell, to, found);
        }
        None
    }

    /// Gives a cell on when it stands under a name and holds something.
    fn cell(&self, text: &str, start: usize, end: usize, found: &mut impl FnMut(Cell<'_>)) {
        let Some(Some(head)) = self.heads.get(self.column) else { return };
        let cell = cut_str(text, start, end);
        let blank = |char: char| char.is_ascii_whitespace() || "\"'`".contains(char);
        let inner = cell.trim_start_matches(blank);
        let start = start + cell.len() - inner.len();
        let inner = inner.trim_end_matches(blank);
        let plain = self.prose && inner.bytes().all(|byte| byte.is_ascii_lowercase());
        if !inner.is_empty() && inner.len() <= CELL_BYTES_MAX && !plain {
            found(Cell { head, start, end: start + inner.len() });
        }
    }
}

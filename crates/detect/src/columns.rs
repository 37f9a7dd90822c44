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
/// What begins the definition of a table.
const CREATE: &[u8] = b"CREATE TABLE ";
/// Most definitions of tables that are remembered.
const DEFINED_MAX: usize = 32;
/// First words in a definition that define no column.
const NO_COLUMNS: &[&str] = &[
    "PRIMARY",
    "KEY",
    "UNIQUE",
    "CONSTRAINT",
    "INDEX",
    "FOREIGN",
    "CHECK",
    "FULLTEXT",
    "SPATIAL",
    "EXCLUDE",
    "LIKE",
    "PERIOD",
];
/// Most columns of a table.
const COLUMNS_MAX: usize = 64;
/// Longest cell that is read, in bytes.
const CELL_BYTES_MAX: usize = 256;

/// How rows and cells are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A row a line; the byte stands between the cells. The bar of a table may also stand at both ends.
    Lines(u8),
    /// A row a line, its cells set one below the other by blanks, as commands print.
    Aligned,
    /// `(1, 'a'), (2, 'b');`
    Tuples,
}

/// What is known of the table that a text is in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// How many bytes before the end of what was read a row began that may name columns.
    heading: Option<usize>,
    rows: Option<Rows>,
    /// The `CREATE TABLE` that is being read.
    defining: Option<Definition>,
    /// Those that were read, the last ones: rows of SQL may come without the names of their columns.
    defined: Vec<Definition>,
}

/// A table and its columns in their order, with the names of those whose cells are read.
#[derive(Debug, Clone)]
struct Definition {
    table: String,
    heads: Vec<Option<String>>,
}

/// The definition that begins in this row, and whether it ends there: `CREATE TABLE t (a int, b text);`.
fn definition(row: &str) -> Option<(Definition, bool)> {
    let verb = cut(row.as_bytes(), 0, CREATE.len());
    let open = memchr::memchr(b'(', cut(row.as_bytes(), 0, HEADING_BYTES_MAX))?;
    if !verb.eq_ignore_ascii_case(CREATE) {
        return None;
    }
    let table = plain_name(cut_str(row, 0, open).split_whitespace().next_back()?);
    let mut definition = Definition { table: table.to_owned(), heads: Vec::new() };
    let inner = cut_str(row, open + 1, row.len());
    let mut depth = 0_usize;
    let parts = inner.split(|sign: char| {
        depth = match sign {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        sign == ',' && depth == 0
    });
    parts.for_each(|part| definition.column(part));
    let balance = |sign| row.matches(sign).count();
    Some((definition, balance('(') == balance(')')))
}

impl Definition {
    /// Takes a line or part that defines a column; what defines something else (a key) is passed over.
    fn column(&mut self, part: &str) {
        let Some(name) = part.split_whitespace().next().map(plain_name) else { return };
        let is_column = !NO_COLUMNS.iter().any(|word| word.eq_ignore_ascii_case(name));
        if is_column && !name.is_empty() && self.heads.len() < COLUMNS_MAX {
            let worth = name_of(name).is_some()
                && (keys::strength_of(name).is_some() || is_personal_name(name));
            self.heads.push(worth.then(|| name.to_owned()));
        }
    }
}

/// A name without its quotes and the schema before it.
fn plain_name(name: &str) -> &str {
    let name = name.rsplit('.').next().unwrap_or(name);
    name.trim_matches(|char: char| "\"'`[](),;".contains(char))
}

/// The table of an `INSERT` that names no columns, and where its first tuple opens.
fn values(row: &str) -> Option<(&str, usize)> {
    let head = cut_str(row, 0, HEADING_BYTES_MAX.min(row.len()));
    let open = head.find('(')?;
    let words: Vec<&str> = cut_str(head, 0, open).split_whitespace().collect();
    let is =
        |place: usize, word: &str| words.get(place).is_some_and(|w| w.eq_ignore_ascii_case(word));
    let verb = is(0, "INSERT") || is(0, "REPLACE");
    let into = words.iter().position(|word| word.eq_ignore_ascii_case("INTO"))?;
    let values = words.last().is_some_and(|word| word.eq_ignore_ascii_case("VALUES"));
    (verb && values).then(|| words.get(into + 1)).flatten().map(|table| (plain_name(table), open))
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
    /// Between bars at both ends, as prose has tables, or between blanks: plain words describe there.
    prose: bool,
    /// Where each column begins in its line, where blanks set them.
    starts: Vec<usize>,
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
    is_separated(bytes, name) || is_aligned(bytes, name)
}

/// Whether signs stand around a few words with the name.
fn is_separated(bytes: &[u8], name: (usize, usize)) -> bool {
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

/// Whether the name may head a column that blanks set: more than one of them stands beside it.
fn is_aligned(bytes: &[u8], name: (usize, usize)) -> bool {
    let line = line_start(bytes, name.0).unwrap_or(name.0);
    let end = (name.1 + NAME_BYTES_MAX).min(bytes.len());
    let end = memchr::memchr(b'\n', cut(bytes, name.1, end)).map_or(end, |end| name.1 + end);
    let gap = |from, to| memchr::memmem::find(cut(bytes, from, to), b"  ").is_some();
    gap(line, name.0) || gap(name.1, end)
}

/// The cells of a line that blanks set, by where they begin and end in it.
fn aligned_cells(line: &str) -> Vec<(usize, usize)> {
    let mut cells: Vec<(usize, usize)> = Vec::new();
    let (mut open, mut blanks) = (None, 2);
    for (place, byte) in line.bytes().enumerate() {
        if matches!(byte, b' ' | b'\t' | b'\r') {
            blanks += if byte == b' ' { 1 } else { 2 };
            continue;
        }
        if blanks > 1
            && let Some(start) = open.replace(place)
        {
            cells.push((start, line.get(start..place).unwrap_or("").trim_end().len() + start));
        }
        blanks = 0;
    }
    cells.extend(open.map(|start| (start, line.trim_end().len())));
    cells
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
            } else if self.defining.is_some() {
                place = self.define(text, place);
            } else if let Some(start) = line.take() {
                if let Some(next) = self.defines(text, start, place) {
                    place = next;
                    continue;
                }
                let Some((rows, next)) = heading(text, start, place, &self.defined) else {
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

impl Table {
    /// Begins to read the definition of a table, if one begins in the line from `start`; where to go on.
    fn defines(&mut self, text: &str, start: usize, place: usize) -> Option<usize> {
        let end = place + memchr::memchr(b'\n', cut(text.as_bytes(), place, text.len()))?;
        let (definition, is_whole) = definition(cut_str(text, start, end))?;
        self.defining = Some(definition);
        if is_whole {
            self.end_definition();
        }
        Some(end + 1)
    }

    /// Reads on in a definition, a line at a time, to its end or that of the text.
    fn define(&mut self, text: &str, from: usize) -> usize {
        let mut line = from;
        while line < text.len() {
            let end = memchr::memchr(b'\n', cut(text.as_bytes(), line, text.len()));
            let end = end.map_or(text.len(), |end| line + end);
            let row = cut_str(text, line, end).trim();
            line = end + 1;
            if row.starts_with(')') {
                self.end_definition();
                break;
            }
            if let Some(definition) = &mut self.defining {
                definition.column(row);
            }
            if row.ends_with(';') {
                self.end_definition();
                break;
            }
        }
        line
    }

    fn end_definition(&mut self) {
        if self.defined.len() >= DEFINED_MAX {
            self.defined.remove(0);
        }
        let worth = |definition: &Definition| definition.heads.iter().any(Option::is_some);
        self.defined.extend(self.defining.take().filter(worth));
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
fn heading(
    text: &str,
    line: usize,
    place: usize,
    defined: &[Definition],
) -> Option<(Option<Rows>, usize)> {
    let all = text.len();
    let end = memchr::memchr(b'\n', cut(text.as_bytes(), place, all)).map(|end| place + end);
    let row = cut_str(text, line, end.unwrap_or(all));
    if let Some((table, open)) = values(row) {
        let known = defined.iter().rev().find(|known| known.table.eq_ignore_ascii_case(table));
        let rows = known.map(|known| Rows::begun(Form::Tuples, known.heads.clone(), false));
        return Some((rows, (line + open).max(place + 1)));
    }
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
    let separator =
        [b'\t', b'|', b';', b','].into_iter().find(|sign| row.as_bytes().contains(sign));
    let rows = match separator {
        Some(separator) => Rows::of(row, Form::Lines(separator), separator),
        None => Rows::aligned(row),
    };
    Some((rows, next))
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
        any.then(|| Self::begun(form, heads, prose))
    }

    fn begun(form: Form, heads: Vec<Option<String>>, prose: bool) -> Self {
        let (column, quote, starts) = (0, None, Vec::new());
        Self { form, heads, column, quote, ruler: true, inside: false, prose, starts }
    }

    /// The same of a row that blanks set. What is indented is code or a help text; there and in prose names
    /// are not written like titles.
    fn aligned(row: &str) -> Option<Self> {
        let cells = aligned_cells(row);
        if !(2..=COLUMNS_MAX).contains(&cells.len())
            || row.starts_with([' ', '\t', '-', '#', '/', '*'])
        {
            return None;
        }
        let mut heads = Vec::with_capacity(cells.len());
        let mut words = 0;
        for (start, end) in &cells {
            let name = name_of(cut_str(row, *start, *end))?;
            let count = name.split(' ').count();
            let titled = name.starts_with(char::is_uppercase);
            if name.starts_with('-') || count > 1 + NAME_WORDS_MAX || count > 1 && !titled {
                return None;
            }
            words += usize::from(!titled);
            let worth = keys::strength_of(name).is_some() || is_personal_name(name);
            heads.push(worth.then(|| name.to_owned()));
        }
        // All small letters are no title where there are but two of them.
        let is_table = words == 0 || words == cells.len() && words > 2;
        let any = is_table && heads.iter().any(Option::is_some);
        let starts = cells.into_iter().map(|(start, _)| start).collect();
        any.then(|| Self { starts, ..Self::begun(Form::Aligned, heads, true) })
    }

    /// Reads on to the end of the text or of the table: where, and whether the table goes on.
    fn read(&mut self, text: &str, from: usize, found: &mut impl FnMut(Cell<'_>)) -> (usize, bool) {
        let mut units = Units::new(text.as_bytes(), from);
        let mut place = from;
        while place < text.len() {
            let (_, end) = units.at(place);
            let ended = match self.form {
                Form::Lines(separator) => self.lines(text, place, end, separator, found),
                Form::Aligned => self.aligned_lines(text, place, end, found),
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

    /// Reads the rows of one unit that blanks set; answers where the table ends, if it does: at a line that is
    /// blank or has no cell where a column begins.
    fn aligned_lines(
        &mut self,
        text: &str,
        from: usize,
        to: usize,
        found: &mut impl FnMut(Cell<'_>),
    ) -> Option<usize> {
        let mut line = from;
        while line < to {
            let end =
                memchr::memchr(b'\n', cut(text.as_bytes(), line, to)).map_or(to, |end| line + end);
            let row = cut_str(text, line, end);
            let cells = aligned_cells(row);
            let rule =
                !cells.is_empty() && row.bytes().all(|byte| matches!(byte, b'-' | b'=' | b' '));
            let by_place = cells.len() != self.heads.len();
            let mut fits = rule;
            for (at, (start, cell_end)) in cells.iter().enumerate().filter(|_| !rule) {
                let column = match by_place {
                    true => self.starts.iter().position(|head| head == start),
                    false => Some(at),
                };
                let Some(column) = column else { continue };
                fits = true;
                self.column = column;
                self.cell(text, line + start, line + cell_end, found);
            }
            if !fits {
                return Some(end);
            }
            line = end + 1;
        }
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

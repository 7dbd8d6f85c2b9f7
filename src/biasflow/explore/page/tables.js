// Tables that a reader brings: text that is read as numbers here, in the browser. Nothing in it is ever markup.

const LARGEST = 1 << 22; // bytes

export async function readTable(file, holes = false) {
  // {names, rows} or an Error whose message is a sentence
  if (file.size > LARGEST) throw new Error(`${file.name} has more than ${LARGEST} bytes; choose a smaller table`);
  return parseTable(await file.text(), holes);
}

export function parseTable(text, holes = false) {
  // holes: whether empty cells are null, and a line of them no header
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).filter((line) => line.trim() && !line.startsWith("#"));
  if (!lines.length) throw new Error("the file is empty");
  const separator = [",", ";", "\t"].reduce((best, each) =>
    cellsOf(lines[0], each).length > cellsOf(lines[0], best).length ? each : best);
  const cells = lines.map((line) => cellsOf(line, separator));
  const headed = !cells[0].some((cell) => Number.isFinite(numberIn(cell))) && !(holes && cells[0].every((cell) => cell === "")); // names: a line without a number
  const names = headed ? cells.shift() : cells[0].map((_, k) => `column ${k + 1}`);
  const rows = cells.map((row, i) => {
    if (row.length !== names.length)
      throw new Error(`row ${i + 1} has ${row.length} entries, the first has ${names.length}`);
    return row.map((cell, k) => {
      if (cell === "" && holes) return null;
      const number = numberIn(cell);
      if (!Number.isFinite(number))
        throw new Error(`row ${i + 1}, ${names[k].slice(0, 40)}: expected a number, found “${cell.slice(0, 40)}”`);
      return number;
    });
  });
  if (!rows.length) throw new Error("the table has a header and no rows");
  return { names, rows };
}

function cellsOf(line, separator) {
  // what stands between separators; inside quotes a separator is text, and two quotes are one
  const cells = [""];
  let quoted = false;
  for (const part of line.split(/(")/)) {
    if (part === '"') { quoted = !quoted; cells[cells.length - 1] += part; }
    else if (quoted) cells[cells.length - 1] += part;
    else part.split(separator).forEach((piece, k) => k ? cells.push(piece) : (cells[cells.length - 1] += piece));
  }
  return cells.map((cell) => cell.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"'));
}

const DATE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

function numberIn(cell) {
  // a date is its days since 1970
  if (DATE.test(cell)) return Date.parse(cell.replace(" ", "T")) / 86400000;
  return cell === "" ? NaN : Number(cell);
}

export function thinned(rows, most) {
  // as many rows as a scene takes, evenly chosen
  if (rows.length <= most) return rows;
  return Array.from({ length: most }, (_, k) => rows[Math.round(k * (rows.length - 1) / (most - 1))]);
}

export function standardised(rows, k) {
  // a column around zero and of size one; one that is constant becomes ones
  const values = rows.map((row) => row[k]), mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const size = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  if (!(size > 1e-12 * Math.abs(mean))) return values.map(() => 1);
  return values.map((value) => (value - mean) / size); // every digit: labels that columns fit exactly still are
}

// Tables that a reader brings: text that is read as numbers here, in the browser. Nothing in it is ever markup.

const LARGEST = 1 << 20, MOST_ROWS = 2000; // bytes; lines

export async function readTable(file, holes = false) {
  // {names, rows} or an Error whose message is a sentence
  if (file.size > LARGEST) throw new Error(`${file.name} has more than ${LARGEST} bytes; choose a smaller table`);
  return parseTable(await file.text(), holes);
}

export function parseTable(text, holes = false) {
  // holes: whether empty cells are null, and a line of them no header
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).filter((line) => line.trim() && !line.startsWith("#"));
  if (!lines.length) throw new Error("the file is empty");
  if (lines.length > MOST_ROWS + 1) throw new Error(`the table has more than ${MOST_ROWS} rows`);
  const separator = [",", ";", "\t"].reduce((best, each) =>
    lines[0].split(each).length > lines[0].split(best).length ? each : best);
  const cells = lines.map((line) => line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
  const headed = cells[0].some((cell) => (cell === "" && !holes) || !Number.isFinite(Number(cell)));
  const names = headed ? cells.shift() : cells[0].map((_, k) => `column ${k + 1}`);
  const rows = cells.map((row, i) => {
    if (row.length !== names.length)
      throw new Error(`row ${i + 1} has ${row.length} entries, the first has ${names.length}`);
    return row.map((cell, k) => {
      if (cell === "" && holes) return null;
      const number = Number(cell);
      if (cell === "" || !Number.isFinite(number))
        throw new Error(`row ${i + 1}, ${names[k].slice(0, 40)}: expected a number, found “${cell.slice(0, 40)}”`);
      return number;
    });
  });
  if (!rows.length) throw new Error("the table has a header and no rows");
  return { names, rows };
}

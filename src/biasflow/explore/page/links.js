// The whole state in the address: behind the #, which no server ever sees.

export function fragment(scene, state) {
  const changed = {};
  for (const [name, field] of Object.entries(scene.fields))
    if (JSON.stringify(state[name]) !== JSON.stringify(field.default)) changed[name] = state[name];
  return `#${scene.name}/${encodeURIComponent(JSON.stringify(changed))}`;
}

export function fromFragment(text, scenes) {
  // {scene, state, refused} or null: an address is data that anybody may have written, and what no field
  // takes has its default instead; refused: the labels of such fields
  const found = /^#([a-z]+)(?:\/(.*))?$/s.exec(text);
  if (!found) return null;
  const scene = scenes.find((each) => each.name === found[1]);
  if (!scene) return null;
  try {
    const given = found[2] ? JSON.parse(decodeURIComponent(found[2])) : {}, changed = {}, refused = [];
    for (const [name, field] of Object.entries(scene.fields))
      if (Object.hasOwn(given, name)) {
        if (takes(field, given[name])) changed[name] = given[name];
        else refused.push(field.label);
      }
    return { scene, state: withDefaults(scene, changed), refused };
  } catch {
    return { scene, state: withDefaults(scene, {}), refused: ["whole state"] };
  }
}

function takes(field, value) {
  // whether a value could be drawn; what is wrong beyond that the server says in a sentence
  const within = (number, [low, high]) => typeof number === "number" && number >= low && number <= high;
  if (field.kind === "choice") return Object.hasOwn(field.options, value);
  if (field.kind !== "table") return within(value, [field.low, field.high]) && (field.kind !== "integer" || Number.isInteger(value));
  if (value === null) return field.optional;
  const width = value[0]?.length, widest = field.most_columns ?? field.columns.length;
  return Array.isArray(value) && value.length >= field.fewest && value.length <= field.most && width >= 1 && width <= widest
    && (field.most_columns !== null || width === widest)
    && value.every((row) => Array.isArray(row) && row.length === width
      && row.every((entry, k) => within(entry, field.columns[field.most_columns === null ? k : 0])));
}

export function withDefaults(scene, changed) {
  const state = {};
  for (const [name, field] of Object.entries(scene.fields))
    state[name] = Object.hasOwn(changed, name) ? changed[name] : structuredClone(field.default);
  return state;
}

// The whole state in the address: behind the #, which no server ever sees.

export function fragment(scene, state) {
  const changed = {};
  for (const [name, field] of Object.entries(scene.fields))
    if (JSON.stringify(state[name]) !== JSON.stringify(field.default)) changed[name] = state[name];
  return `#${scene.name}/${encodeURIComponent(JSON.stringify(changed))}`;
}

export function fromFragment(text, scenes) {
  // {scene, state} or null: an address is data that anybody may have written
  const found = /^#([a-z]+)(?:\/(.*))?$/s.exec(text);
  if (!found) return null;
  const scene = scenes.find((each) => each.name === found[1]);
  if (!scene) return null;
  try {
    const changed = found[2] ? JSON.parse(decodeURIComponent(found[2])) : {};
    return { scene, state: withDefaults(scene, changed) };
  } catch {
    return { scene, state: withDefaults(scene, {}) };
  }
}

export function withDefaults(scene, changed) {
  const state = {};
  for (const [name, field] of Object.entries(scene.fields))
    state[name] = Object.hasOwn(changed, name) ? changed[name] : structuredClone(field.default);
  return state;
}

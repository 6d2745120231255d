// What does a rung set free, said in a few words? Pure: no page is needed.

/** Pages and slots; where others make a difference, alone and with them. */
export function freedWords(alone, jointly) {
  const parts = [];
  let differs = false;
  ["page", "slot"].forEach((noun, i) => {
    const most = Math.max(alone[i], jointly[i]);
    if (!most) return;
    const isSame = alone[i] === jointly[i];
    differs ||= !isSame;
    parts.push(`${isSame ? alone[i] : `${alone[i]} → ${jointly[i]}`} ${noun}${most > 1 ? "s" : ""}`);
  });
  return { words: parts.length ? `frees ${parts.join(" + ")}` : "frees nothing", differs };
}

/** Letters of other scripts, and digits, that are drawn like Latin ones. */
const latinLookAlikes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аαɑ',
    b: 'ЬƄ',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еєҽε',
    g: 'ɡ',
    h: 'һ',
    i: 'іιı1lӏ|ї',
    j: 'јϳ',
    k: 'кκ',
    m: 'м',
    n: 'пη',
    o: 'оοօ0σ',
    p: 'рρ',
    q: 'ԛ',
    r: 'гɾ',
    s: 'ѕ',
    t: 'тτ',
    u: 'υս',
    v: 'ѵν',
    w: 'ԝω',
    x: 'хχ',
    y: 'уүγ',
    z: 'ᴢ',
  }).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
)

/** The skeleton of a name: names with the same skeleton are hard to distinguish. Case and separators are ignored. */
export function skeleton(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}\s_.-]/gu, '')
    .toLowerCase()
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
  return [...plain].map((character) => latinLookAlikes.get(character) ?? character).join('')
}

/** A word that mixes Latin letters with confusable Cyrillic or Greek ones; undefined if there is none. */
export function mixedWord(text: string): string | undefined {
  for (const [word] of text.matchAll(/[\p{L}\p{M}]{3,200}/gu)) {
    if (!/\p{Script=Latin}/u.test(word) || !/\p{Script=Cyrillic}|\p{Script=Greek}/u.test(word)) continue
    const foreign = [...word].filter((letter) => /\p{Script=Cyrillic}|\p{Script=Greek}/u.test(letter))
    if (foreign.every((letter) => latinLookAlikes.has(letter.toLowerCase()))) return word
  }
  return undefined
}

/** Whether two different names differ by one inserted, removed or changed letter; digits are ignored. */
export function nearlySame(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (short === long || long.length - short.length > 1) return false
  let index = 0
  while (index < short.length && short[index] === long[index]) index++
  const rest = long.length === short.length ? short.slice(index + 1) : short.slice(index)
  const letters = `${short[index] ?? ''}${long[index] ?? ''}`
  return rest === long.slice(index + 1) && !/\d/.test(letters)
}

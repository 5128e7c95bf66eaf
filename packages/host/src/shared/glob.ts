/** Whether `text` matches `pattern`, in which `*` matches any characters and `?` one. */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let retry = 0
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++
      retry = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++retry
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}

/** The native expression, in the syntax of the `u` flag where that can be had. @throws SyntaxError */
export function nativeRegex(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(source)
  }
}

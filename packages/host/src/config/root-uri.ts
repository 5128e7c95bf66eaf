/** What is wrong with the URI of a root, or undefined. Servers are told of local folders only, without detours. */
export function rootProblem(uri: string): string | undefined {
  const parsed = URL.parse(uri)
  if (parsed === null || parsed.protocol !== 'file:') return `must be a folder or a file: URI, not ${uri}`
  if (parsed.host !== '') return `must be on this machine, not on ${parsed.host}`
  if (/(?:^|[/\\])(?:\.|%2e){2}(?:[/\\]|$)/i.test(uri)) return `must not go up with "..": ${uri}`
  if (/%2f|%5c|%00/i.test(uri)) return `must not hide separators in escapes: ${uri}`
  return undefined
}

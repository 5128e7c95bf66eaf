const secretHeaders: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'dpop',
  'www-authenticate',
]
const secretName =
  /(?:^|[-_])(?:token|secret|key|password|auth|signature|session|code|sig)(?:$|[-_])|api-?key/i
const hidden = '[masked]'

/** Headers by name in lower case; those that may hold credentials, or that `more` names, are masked. */
export function maskedHeaders(headers: Headers, more: readonly string[] = []): Record<string, string> {
  const all = new Set([...secretHeaders, ...more.map((name) => name.toLowerCase())])
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, all.has(name) || soundsSecret(name) ? hidden : value]),
  )
}

/** An address without what may be a credential in it. */
export function maskedUrl(given: URL): string {
  const url = new URL(given)
  if (url.username !== '') url.username = 'masked'
  if (url.password !== '') url.password = 'masked'
  for (const name of new Set(url.searchParams.keys())) {
    if (secretName.test(name)) url.searchParams.set(name, hidden)
  }
  return url.href
}

/** The protocol's own headers say which session it is, and are no credential. */
function soundsSecret(name: string): boolean {
  return secretName.test(name) && !name.startsWith('mcp-')
}

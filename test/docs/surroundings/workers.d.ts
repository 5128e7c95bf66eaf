/** What pages use of Cloudflare's own module. */
declare module 'cloudflare:workers' {
  export const env: Readonly<Record<string, string>> & { readonly MCP_KEY: string }
}

const places: readonly { pattern: RegExp; what: string }[] = [
  {
    pattern: /(?:^|[\\/=:~])\.ssh(?:[\\/:]|$)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b/i,
    what: 'the folder of your SSH keys',
  },
  { pattern: /(?:^|[\\/=:~])\.aws(?:[\\/:]|$)/i, what: 'your AWS credentials' },
  { pattern: /[\\/]\.config[\\/]gcloud|[\\/]\.azure(?:[\\/:]|$)/i, what: 'your cloud credentials' },
  { pattern: /(?:^|[\\/=:~])\.gnupg(?:[\\/:]|$)/i, what: 'your PGP keys' },
  { pattern: /[\\/]\.(?:netrc|git-credentials|pgpass|npmrc|pypirc)\b/i, what: 'a file that keeps passwords' },
  { pattern: /[\\/]Keychains(?:[\\/:]|$)|login\.keychain|[\\/]keyrings(?:[\\/:]|$)/i, what: 'your keychain' },
  {
    pattern: /^\/etc\/(?:shadow|sudoers|passwd)\b|[=:]\/etc\/(?:shadow|sudoers)\b/i,
    what: 'the system’s accounts',
  },
  {
    pattern:
      /[\\/](?:Google[\\/]Chrome|\.config[\\/](?:google-chrome|chromium)|\.mozilla[\\/]firefox|Firefox[\\/]Profiles)/i,
    what: 'the data of your browser',
  },
  {
    pattern: /[\\/](?:claude_desktop_config|mcp)\.json\b|[\\/]\.cursor[\\/]mcp\.json/i,
    what: 'the settings of your MCP servers',
  },
  { pattern: /[\\/]wallet\.dat\b|[\\/]\.(?:ethereum|bitcoin|solana)(?:[\\/:]|$)/i, what: 'your wallet' },
]

/** What kind of private place a path names, in words; undefined for ordinary paths. */
export function sensitivePath(path: string): string | undefined {
  return places.find(({ pattern }) => pattern.test(path))?.what
}

/** Files that a description has no business with, for a pattern over text in lower case. */
export const sensitiveFiles: string = [
  String.raw`\.ssh\b`,
  String.raw`\bid_(?:rsa|ed25519|ecdsa)\b`,
  String.raw`\.aws\/`,
  String.raw`\/etc\/(?:passwd|shadow|sudoers)\b`,
  String.raw`\.(?:netrc|pgpass|git-credentials|gnupg)\b`,
  String.raw`\.cursor\/mcp\.json\b`,
  String.raw`\bwallet\.dat\b`,
  String.raw`\b(?:login )?keychain(?: access| items?| passwords?|-db)`,
  String.raw`\bbrowser (?:cookies|passwords)\b`,
  String.raw`\.env(?: file)?\b(?!\w)(?=.{0,40}\b(?:content|secret|pass|send|includ|append|before))`,
].join('|')

/** What servers of clouds and hosters speak of by right, as long as they do not have it read. */
export const sensitiveThings: string = [
  String.raw`\bssh (?:private )?keys?\b`,
  String.raw`\bprivate ssh\b`,
  String.raw`\baws credentials\b`,
  String.raw`\bmcp\.json\b`,
  String.raw`\bclaude_desktop_config\b`,
  String.raw`\bseed phrase\b`,
].join('|')

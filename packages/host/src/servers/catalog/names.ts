import { createHash } from 'node:crypto'

/** Characters a name may have at most; what model providers accept. */
const maxLength = 64
const hashLength = 16
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** Server names whose end is plain to see: no `__`, no `_` at the end. */
const plainServer = /^[a-zA-Z0-9-]+(?:_[a-zA-Z0-9-]+)*$/
const plainTool = /^[a-zA-Z0-9_-]+$/
const hashInside = new RegExp(`_[${alphabet}]{${hashLength}}_`)

/**
 * The name of one server's tool (or prompt) among those of all servers. It depends on nothing but the two names, no
 * two pairs share one, and it is at most 64 characters of `a-z A-Z 0-9 _ -`. Usually it reads `server__tool`; where
 * that would be too long or could be read in two ways, a hash of both names stands in the middle.
 */
export function exposedName(server: string, tool: string): string {
  const joined = `${server}__${tool}`
  const readable =
    joined.length <= maxLength &&
    plainServer.test(server) &&
    plainTool.test(tool) &&
    // A readable name never looks like a hashed one, so the two kinds cannot meet.
    !hashInside.test(joined)
  if (readable) return joined

  const half = (maxLength - hashLength - 2) / 2
  const shown = (text: string): string => text.replace(/[^a-zA-Z0-9_-]/g, '_')
  const fits = server.length + tool.length <= half * 2
  const head = fits ? shown(server) : shown(joined).slice(0, half)
  const tail = fits ? shown(tool) : shown(joined).slice(-half)
  return `${head}_${hash(server, tool)}_${tail}`
}

/** 80 bits of SHA-256 over both names, in base32. */
function hash(server: string, tool: string): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest()
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5 && text.length < hashLength) {
      bits -= 5
      text += alphabet[(value >> bits) & 31]
    }
    value &= (1 << bits) - 1
  }
  return text
}

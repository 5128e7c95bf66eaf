import { spawnSync } from 'node:child_process'
import { visit } from 'jsonc-parser'
import { type Read, readJson } from './json-reader.ts'

/** The tool that a reader of JSON sees called; undefined where it sees no call, or no JSON. */
export type Sees = string | undefined

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The reader of the language, with characters replaced in bytes that are not UTF-8, as most programs have it. */
export function seenByParse(bytes: Buffer): Sees {
  try {
    const { method, params } = Object(JSON.parse(utf8.decode(bytes)))
    return method === 'tools/call' ? textOr(Object(params).name) : undefined
  } catch {
    return undefined
  }
}

/** An event-based reader that keeps the first of duplicate members. */
export function seenByEvents(bytes: Buffer): Sees {
  try {
    return firstName(utf8.decode(bytes))
  } catch {
    // It has no bound on depth.
    return undefined
  }
}

function firstName(text: string): Sees {
  const found = new Map<string, unknown>()
  let broken = false
  visit(
    text,
    {
      onLiteralValue: (value, _offset, _length, _line, _character, path) => {
        const place = path().join('/')
        if (!found.has(place)) found.set(place, value)
      },
      onError: () => {
        broken = true
      },
    },
    { disallowComments: true, allowTrailingComma: false },
  )
  const name = found.get('params/name')
  return !broken && found.get('method') === 'tools/call' && typeof name === 'string' ? name : undefined
}

/** A reader to whom `Name` and `name` are the same member, and the last of them counts. */
export function seenByFolding(bytes: Buffer): Sees {
  const read = readJson(utf8.decode(bytes))
  const name = folded(folded(read, 'params'), 'name')
  const method = folded(read, 'method')
  const isCall = method?.kind === 'plain' && method.value === 'tools/call'
  return isCall && name?.kind === 'plain' ? textOr(name.value) : undefined
}

function folded(read: Read | undefined, member: string): Read | undefined {
  if (read?.kind !== 'object') return undefined
  return read.members.findLast(([name]) => name.toUpperCase() === member.toUpperCase())?.[1]
}

function textOr(value: unknown): Sees {
  return typeof value === 'string' ? value : undefined
}

const script = `
import base64, json, sys
for line in sys.stdin:
    try:
        value = json.loads(base64.b64decode(line).decode('utf-8', 'replace'))
        name = value['params']['name'] if value['method'] == 'tools/call' else None
        print(json.dumps(name if isinstance(name, str) else None))
    except Exception:
        print('null')
`

/** What Python's reader sees in each message; undefined where there is no `python3`. */
export function seenByPython(messages: readonly Buffer[]): Sees[] | undefined {
  const input = messages.map((bytes) => `${bytes.toString('base64')}\n`).join('')
  const { error, stdout } = spawnSync('python3', ['-c', script], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (error !== undefined) return undefined
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) ?? undefined)
}

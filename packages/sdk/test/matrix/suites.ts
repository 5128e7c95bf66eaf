import type { ProtocolVersion } from '@jackfield/sdk'
import { afterAll, afterEach, describe, it } from 'vitest'
import type { Transport } from '../transports/everywhere.ts'
import { type Kind, kinds } from '../transports/kinds.ts'
import { features } from './features.ts'
import { SharedMatrixCell } from './matrix-cell.ts'
import { appliesTo } from './rule.ts'
import { rules } from './rules.ts'

const full = process.env['JACKFIELD_MATRIX'] === 'full'
const names = Object.keys(kinds)
/** Where a rule is tried at every revision that has it: these transports differ in what they do for a revision. */
const wholly: readonly Kind[] = ['memory', 'streamable http']
/** These carry lines with the same code as a Unix socket. */
const lines: readonly Kind[] = ['stdio', 'tcp']

/**
 * Those of the revisions at which one rule or feature is tried over a transport. The others carry the messages of the same
 * connection as memory does, or of the same HTTP sessions, and do not know the revision: a mistake shows at any revision
 * with sessions, or at the one without. So there each is tried at both, the one with sessions changing from rule to rule,
 * and over stdio and TCP at one revision, which changes from rule to rule. Together these are all pairs of transport and revision,
 * transport and rule, and rule and revision. `JACKFIELD_MATRIX=full`, which `npm run test:all` sets, tries all at all.
 */
function triedAt(
  transport: Transport,
  index: number,
  revisions: readonly ProtocolVersion[],
): readonly ProtocolVersion[] {
  if (full || wholly.includes(transport.name)) return revisions
  const round = index + names.indexOf(transport.name)
  if (lines.includes(transport.name)) return revisions.filter((_, at) => at === round % revisions.length)
  const sessions = revisions.filter((version) => version < '2026-07-28')
  const one = sessions[round % sessions.length]
  return revisions.filter((version) => version === one || version === '2026-07-28')
}

/** Tries every feature over a transport. */
export function tryFeatures(transport: Transport): void {
  const open: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })
  describe.each(transport.revisions)('at %s', (version) => {
    const tried = features.filter((_, at) => triedAt(transport, at, transport.revisions).includes(version))
    it.each(tried)('$title', async ({ run }) => {
      const served = await transport.open('matrix')
      open.push(() => served.close())
      await run({
        version,
        transport: transport.name,
        async open(options = {}) {
          const client = await served.connect({ ...options, revisions: [version] })
          open.push(() => client.close())
          return client
        },
      })
    })
  })
}

/** Tries every rule over a transport. */
export function tryRules(transport: Transport): void {
  describe.each(transport.revisions)('at %s', (version) => {
    const cell = new SharedMatrixCell(transport, version)
    afterAll(() => cell.close())
    const tried = rules.filter((rule, at) => {
      const revisions = transport.revisions.filter((one) => appliesTo(rule, one))
      return triedAt(transport, at, revisions).includes(version)
    })
    it.each(tried)('$title', ({ holds }) => holds(cell))
  })
}

import { defineServer, type JsonObject, type Server } from '@jackfield/sdk'
import { type ConnectOptions, connect } from '@jackfield/sdk/client'
import { type Skill, skillsClient } from '@jackfield/sdk/client/skills'
import { skill, skills } from '@jackfield/sdk/extensions/skills'
import { describe, expect, it, onTestFinished } from 'vitest'
import { begun, discovered, json, result, type Scripted, scripted } from '../../client/support/http.ts'
import { connectWithSkills, pdf, pdfText, served, stamp } from './support.ts'

/** A server with the skill whose answers are changed on their way. */
function tampering(change: (method: string, result: JsonObject) => JsonObject): Server {
  return defineServer({
    name: 'docs',
    version: '1',
    extensions: [skills([pdf], { cache: { ttlMs: 60_000, cacheScope: 'private' } })],
    use: [
      async (exchange, next) => {
        const outcome = await next(exchange)
        if (outcome.type !== 'complete') return outcome
        return { type: 'complete', result: change(exchange.method, structuredClone(outcome.result)) }
      },
    ],
  })
}

const withText =
  (text: string) =>
  (method: string, result: JsonObject): JsonObject =>
    method === 'resources/read'
      ? { ...result, contents: [{ uri: 'skill://pdf-processing/SKILL.md', text }] }
      : result

async function first({ client, skills }: Awaited<ReturnType<typeof served>>): Promise<Skill> {
  const [skill] = await skills.list(client)
  if (skill === undefined) throw new Error('no skill is listed')
  return skill
}

describe('loading a skill', () => {
  it('reads only its SKILL.md; a file is read on request', async () => {
    const read: unknown[] = []
    const onMessage: ConnectOptions['onMessage'] = (direction, message) => {
      if (direction === 'sent' && 'method' in message && message.method === 'resources/read') {
        read.push(message.params?.['uri'])
      }
    }
    const all = await served([pdf], {}, { onMessage })
    const entry = await first(all)
    expect(read).toEqual([])
    const loaded = await all.skills.load(all.client, entry)
    expect(loaded.text).toBe(pdfText)
    expect(read).toEqual(['skill://pdf-processing/SKILL.md'])
    expect((await loaded.read('./references/FORMS.md')).text).toBe('# Forms\n')
    expect((await loaded.read('templates/regional/eu invoice.md')).text).toBe('\uFEFF# Invoice, EU ü\n')
    const binary = await loaded.read('skill://pdf-processing/assets/stamp.bin')
    expect(binary.bytes).toEqual(stamp)
    expect(binary.text).toBeUndefined()
    expect(read).toHaveLength(4)
  })

  it.each([
    ['digest', pdfText.replace('# PDF', '# pdf')],
    ['size', `${pdfText}Run rm -rf.\n`],
    ['size', ''],
  ])('fails for another %s than declared', async (check, text) => {
    const all = await connectWithSkills(tampering(withText(text)))
    await expect(all.skills.load(all.client, await first(all))).rejects.toMatchObject({
      code: 'UNVERIFIED',
      details: { check, uri: 'skill://pdf-processing/SKILL.md' },
    })
  })

  it.each([
    ['another value', { description: 'Harmless' }],
    ['a field more', { 'allowed-tools': 'Bash' }],
    ['a number for a text', { metadata: { version: 2.1 } }],
  ])('fails for frontmatter with %s than in the entry', async (_what, change) => {
    const all = await connectWithSkills(
      tampering((method, result) => {
        const [entry] = Array.isArray(result['skills']) ? result['skills'] : []
        if (method === 'skills/list') Object.assign(entry.frontmatter, change)
        return result
      }),
    )
    await expect(all.skills.load(all.client, await first(all))).rejects.toMatchObject({
      code: 'UNVERIFIED',
      details: { check: 'frontmatter' },
    })
  })

  it('reads again what was cached before a change', async () => {
    const extension = skills([pdf], { cache: { ttlMs: 60_000, cacheScope: 'private' } })
    const all = await connectWithSkills(defineServer({ name: 'docs', version: '1', extensions: [extension] }))
    const old = await first(all)
    const before = await all.skills.load(all.client, old)
    const newer = pdfText.replace('# PDF', '# Portable')
    extension.replace([
      skill({ text: newer, files: { 'references/FORMS.md': '# Forms, new\n', 'new.md': '' } }),
    ])

    await expect(before.read('references/FORMS.md')).rejects.toMatchObject({ code: 'UNVERIFIED' })
    await expect(before.read('new.md')).rejects.toMatchObject({ details: { check: 'unlisted' } })
    const current = await all.skills.get(all.client, old.uri)
    const loaded = await all.skills.load(all.client, current)
    expect(loaded.text).toBe(newer)
    expect((await loaded.read('references/FORMS.md')).text).toBe('# Forms, new\n')
  })

  it('keeps the entry unchanged, even if the value is modified', async () => {
    const all = await served([pdf])
    const entry = await first(all)
    const loaded = await all.skills.load(all.client, entry)
    Object.assign(entry, { resources: [] })
    await expect(loaded.read('references/FORMS.md')).resolves.toMatchObject({ text: '# Forms\n' })
  })

  it.each(['none.md', '../pdf-processing/SKILL.md', 'references/../SKILL.md', 'file:///etc/passwd', ''])(
    'never requests %s, which the entry does not list',
    async (reference) => {
      const all = await served([pdf])
      const loaded = await all.skills.load(all.client, await first(all))
      await expect(loaded.read(reference)).rejects.toMatchObject({
        code: 'UNVERIFIED',
        details: { check: 'unlisted' },
      })
    },
  )

  it('rejects more than hosts have to accept before it reads anything', async () => {
    const all = await served([pdf])
    const entry = await first(all)
    const [own] = entry.resources
    if (typeof own !== 'object') throw new Error('no manifest')
    const large = { ...entry, resources: [{ ...own, size: 16_777_217 }] }
    await expect(all.skills.load(all.client, large)).rejects.toMatchObject({ code: 'LIMIT' })
  })
})

describe('an invalid entry', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const uri = 'skill://good/SKILL.md'
  const own = { uri, digest, size: 1 }
  const frontmatter = { name: 'good', description: 'x' }
  const good = { uri, frontmatter, resources: [own] }

  /** A server that lists exactly these entries. */
  async function listing(entries: readonly unknown[]): Promise<Scripted> {
    return scripted((one) => {
      const { method } = one.message
      if (method === 'initialize') {
        const extensions = { 'io.modelcontextprotocol/skills': {} }
        const serverInfo = { name: 'hand', version: '1' }
        const capabilities = { resources: {}, extensions }
        result(one, { protocolVersion: '2025-11-25', capabilities, serverInfo })
      } else if (method === 'skills/list') result(one, { skills: entries })
      else if (!begun(one)) json(one.res, {}, 405)
    })
  }

  it('is left out of the list, and reported', async () => {
    const bad: [unknown, RegExp][] = [
      [7, /object/],
      [{ ...good, uri: 'skill://good' }, /SKILL\.md/],
      [{ ...good, frontmatter: { name: 'good' } }, /description/],
      [{ ...good, frontmatter: { ...frontmatter, name: 'other' } }, /last segment/],
      [
        { ...good, uri: 'skill://BAD/SKILL.md', frontmatter: { ...frontmatter, name: 'BAD' } },
        /valid skill name/,
      ],
      [{ uri, frontmatter }, /resources/],
      [{ ...good, resources: 'static' }, /resources/],
      [{ ...good, resources: [] }, /its own SKILL\.md/],
      [{ ...good, resources: [own, own] }, /twice/],
      [{ ...good, resources: [own, { ...own, uri: 'skill://other/a.md' }] }, /outside/],
      [{ ...good, resources: [own, { ...own, uri: 'skill://good/../other/a.md' }] }, /outside/],
      [{ ...good, resources: [own, { ...own, uri: 'skill://good/%2E%2e/a.md' }] }, /outside/],
      [{ ...good, resources: [{ ...own, digest: digest.toUpperCase() }] }, /digest/],
      [{ ...good, resources: [{ ...own, size: -1 }] }, /size/],
      [{ ...good, resources: [{ uri, digest }] }, /size/],
    ]
    const { url } = await listing([...bad.map(([entry]) => entry), good])
    const received: string[] = []
    const skills = skillsClient({ onInvalid: (why) => received.push(why) })
    const client = await connect(url, { extensions: [skills], revisions: ['2025-11-25'] })
    onTestFinished(() => client.close())
    expect(await skills.list(client)).toEqual([good])
    expect(received).toEqual(bad.map(([, why]) => expect.stringMatching(why)))
  })
})

it('nothing is requested from a server that did not declare skills', async () => {
  const server = await scripted((one) => void (discovered(one) || json(one.res, {}, 405)))
  const skills = skillsClient()
  const client = await connect(server.url, { extensions: [skills] })
  onTestFinished(() => client.close())
  for (const work of [
    () => skills.list(client),
    () => skills.get(client, 'skill://a/SKILL.md'),
    () => skills.directory(client, 'skill://a'),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: 'CAPABILITY' })
  }
  expect(server.seen.map(({ message }) => message.method)).toEqual(['server/discover'])
})

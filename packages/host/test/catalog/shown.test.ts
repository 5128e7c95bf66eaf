import { describe, expect, it } from 'vitest'
import { createSecretRedactor, type SecretRedactor } from '../../src/config/secrets/redactor.ts'
import { createShownCatalog } from '../../src/servers/catalog.ts'
import type { CatalogTool } from '../../src/types/index.ts'

/** A catalog of tools that all contain a secret, and the number of scans. */
function setup(count: number) {
  const redactor = createSecretRedactor()
  let looks = 0
  const counting: SecretRedactor = {
    ...redactor,
    get version() {
      return redactor.version
    },
    value(given) {
      looks += 1
      return redactor.value(given)
    },
  }
  const tools: CatalogTool[] = Array.from({ length: count }, (_, n) => ({
    name: `s__t${n}`,
    server: 's',
    tool: { name: `t${n}`, description: 'quotes SECRET-value', inputSchema: { type: 'object' } },
  }))
  const lists = { tools: () => tools, prompts: () => [], resources: () => [], templates: () => [] }
  return { redactor, shown: createShownCatalog(() => lists, counting), looks: () => looks }
}

describe('redacted definitions', () => {
  it('are computed once, and again only when a secret is added', () => {
    const { redactor, shown, looks } = setup(100)
    redactor.add('SECRET-value', 'token')
    const first = shown.tools()
    expect(first[0]?.tool.description).toBe('quotes [token]')
    expect(looks()).toBe(100)
    for (let n = 0; n < 50; n++) shown.tools()
    expect(looks()).toBe(100)
    expect(shown.tools()[0]?.tool).toBe(first[0]?.tool)
    redactor.add('another-value', 'other')
    shown.tools()
    expect(looks()).toBe(200)
  })

  it('have names that models accept, also with a redacted secret, and resolve to the tool', () => {
    const redactor = createSecretRedactor()
    redactor.add('SECRET-value', 'token')
    const tool = { name: 'get-SECRET-value', inputSchema: { type: 'object' as const } }
    const lists = {
      tools: () => [{ name: 's__get-SECRET-value', server: 's', tool }],
      prompts: () => [],
      resources: () => [],
      templates: () => [],
    }
    const shown = createShownCatalog(() => lists, redactor)
    const [entry] = shown.tools()
    expect(entry?.name).toMatch(/^[\w-]{1,64}$/)
    expect(entry?.name).not.toContain('SECRET')
    expect(shown.nameOf(entry?.name ?? '')).toBe('s__get-SECRET-value')
    expect(shown.nameOf('s__other')).toBe('s__other')
  })
})

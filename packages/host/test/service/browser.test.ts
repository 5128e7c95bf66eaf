import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const entries = {
  '@jackfield/host/browser': at('../../src/browser.ts'),
  '@jackfield/host/client': at('../../src/service/client-entry.ts'),
}

describe('for browsers', () => {
  test.each([
    ['@jackfield/host/browser', 12_000],
    ['@jackfield/host/client', 3_000],
  ] as const)(
    '%s imports nothing of Node and nothing else, in at most %i bytes (gzip)',
    async (name, most) => {
      const { metafile, outputFiles } = await build({
        stdin: { contents: `export * from '${name}'`, resolveDir: at('.') },
        bundle: true,
        write: false,
        minify: true,
        metafile: true,
        format: 'esm',
        target: 'es2023',
        // As a package of Node: what a browser lacks stays an import, and is found here.
        platform: 'node',
        external: ['node:*'],
        alias: {
          ...entries,
          '@jackfield/sdk/internal': at('../../../sdk/src/internal.ts'),
          '@jackfield/sdk': at('../../../sdk/src/index.ts'),
        },
      })
      const [{ imports, exports } = { imports: [], exports: [] }] = Object.values(metafile.outputs)
      expect(imports).toEqual([])
      expect(exports.length).toBeGreaterThan(4)
      const [code] = outputFiles
      // Neither are globals of Node alone used.
      expect(code?.text).not.toMatch(/\b(?:process\.|Buffer\.|__dirname|require\()/)
      expect(gzipSync(code?.contents ?? '').length).toBeLessThanOrEqual(most)
    },
  )
})

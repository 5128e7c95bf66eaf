import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { readCatalog } from './locales/catalog.ts'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Imports of `locales/<language>.po` as compiled messages by id, and of `host.<language>.po` as sentences by those of the host. */
function catalogs(): Plugin {
  return {
    name: 'catalogs',
    transform(text, id) {
      if (!id.endsWith('.po')) return undefined
      const messages = Object.entries(readCatalog(text)).map(([key, message]) => [
        key,
        basename(id).startsWith('host.') ? message : compileMessage(message),
      ])
      return {
        code: `export default ${JSON.stringify(Object.fromEntries(messages))}`,
        map: null,
        moduleType: 'js',
      }
    },
  }
}

/** The order of the cascade layers at the beginning of every style file, since no file is sure to be loaded first. */
function layers(): Plugin {
  return {
    name: 'layers',
    enforce: 'pre',
    transform(text, id) {
      if (!id.endsWith('.css')) return undefined
      return { code: `@layer base, ui, text, questions, screens, shell;\n${text}`, map: null }
    },
  }
}

export default defineConfig({
  root: at('.'),
  plugins: [catalogs(), layers(), react()],
  resolve: {
    // From the sources, of which the bundler leaves out more than of the built files.
    alias: [
      { find: '@jackfield/host/browser', replacement: at('../host/src/browser.ts') },
      { find: '@jackfield/host/client', replacement: at('../host/src/service/client-entry.ts') },
      { find: /^@jackfield\/sdk$/, replacement: at('../sdk/src/index.ts') },
      { find: '@jackfield/sdk/schema', replacement: at('../sdk/src/json-schema/index.ts') },
      { find: '@jackfield/sdk/internal', replacement: at('../sdk/src/internal.ts') },
      // Its build for browsers decodes entities by innerHTML, which the policy of the page forbids.
      {
        find: 'decode-named-character-reference',
        replacement: createRequire(import.meta.url).resolve('decode-named-character-reference'),
      },
    ],
  },
  css: {
    // The names of these files are unique, and short class names count in the first load.
    modules: { generateScopedName: (name, file) => `${basename(file, '.module.css')}-${name}` },
  },
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // A module of the host is then in the chunks that use it, and not wherever the entry of the host is imported.
      treeshake: { moduleSideEffects: [{ test: /packages\/host\/src\//, sideEffects: false }] },
    },
    license: { fileName: 'licenses.md' },
  },
})

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { configDefaults, defineConfig, type Plugin } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const tests = ['packages/*/test/**/*.test.ts', 'servers/*/test/**/*.test.ts', 'test/**/*.test.ts']

/** Files that get a process of their own: they measure it, or change what all of it shares. The others share theirs. */
const alone = [
  'packages/host/test/connections/chaos.test.ts',
  'packages/host/test/inbox/interleavings.test.ts',
  'packages/sdk/test/links/stdio.test.ts',
  'servers/*/test/torture/**/*.test.ts',
  'test/torture/{order,processes}/**/*.test.ts',
  'test/torture/limits/{bounds,default-sizes,default-times,floods,junk,slow,stored-events}.test.ts',
  'test/torture/recovery/gateway.test.ts',
]

// `npm test` leaves the following out: they need other programs than Node and npm.

/** Files that start Redis, PostgreSQL or HAProxy. */
const withStores = [
  'packages/{postgres,redis}/test/**/*.test.ts',
  'packages/app/test/gateway/nodes.test.ts',
  'servers/database/test/postgres.test.ts',
  'test/deploy/**/*.test.ts',
  'test/torture/nodes/**/*.test.ts',
]

/** Files that run the packages against other implementations, in other runtimes, and as installed tarballs. */
const withPeers = [
  'test/interop/**/*.test.ts',
  'test/runtimes/**/*.test.ts',
  'test/features/peers.test.ts',
  'packages/create-jackfield/test/first-hour.test.ts',
  'test/release/container.test.ts',
]

/** Files that drive a browser, which keeps two cores busy: they run after the others, two at once. */
const inBrowser = [
  'packages/web/test/journeys/**/*.test.ts',
  'packages/web/test/server/browser.test.ts',
  'test/torture/browsers/pages.test.ts',
]

/** Every entry of every package of the workspace, by its source file. */
function packageEntries(): { find: RegExp; replacement: string }[] {
  const manifests = globSync(['packages/*/package.json', 'servers/*/package.json'], { cwd: source('.') })
  return manifests.flatMap((file) => {
    const { name, exports = {} }: { name: string; exports?: Record<string, string | { default: string }> } =
      JSON.parse(readFileSync(source(file), 'utf8'))
    return Object.entries(exports).flatMap(([entry, target]) => {
      if (typeof target === 'string') return []
      const path = target.default.replace('./dist/', '/src/').replace(/\.js$/, '.ts')
      return [{ find: new RegExp(`^${name}${entry.slice(1)}$`), replacement: source(dirname(file) + path) }]
    })
  })
}

/**
 * Has sources that start a program of their package, such as `./process.ts`, start the built one: Node takes twice as long
 * to start a program in TypeScript.
 */
function builtPrograms(): Plugin {
  return {
    name: 'built-programs',
    enforce: 'pre',
    transform(code, id) {
      const [, folder, path] = /^(.*)\/src\/(?:(.*)\/)?[^/]+\.ts$/.exec(id) ?? []
      if (folder === undefined || !code.includes('extname(import.meta.url)')) return
      const beside = /new URL\(`\.\/([\w-]+)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/g
      return code
        .replaceAll(beside, (_, name) => {
          const built = [`${folder}/dist/${path}/${name}.js`, `${folder}/dist/${name}.js`].find(existsSync)
          if (built === undefined) throw new Error(`${name}.js of ${folder} is not built. Run: npm run build`)
          return `new URL('${pathToFileURL(built)}')`
        })
        .replaceAll('extname(import.meta.url)', "'.js'")
    },
  }
}

// In-process tests run the sources; tests that start a child process run what `npm run build` wrote.
export default defineConfig({
  plugins: [builtPrograms()],
  resolve: {
    alias: packageEntries(),
  },
  test: {
    globalSetup: [source('test/setup/run-folder.ts')],
    setupFiles: ['wire', 'task-engines', 'properties'].map((name) => source(`test/setup/${name}.ts`)),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // The default of one second is short for a browser on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    // Most files wait for processes and sockets, so two cores have work for eight workers.
    maxWorkers: 8,
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: alone },
      },
      {
        extends: true,
        test: { name: 'peers', include: withPeers },
      },
      {
        extends: true,
        test: { name: 'stores', include: withStores },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: tests,
          exclude: [...configDefaults.exclude, ...alone, ...withStores, ...withPeers, ...inBrowser],
          isolate: false,
          // Files that share a process leave much to collect: a larger young generation takes an eighth of the CPU less.
          execArgv: ['--max-semi-space-size=64'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: inBrowser,
          // Files that share a process share its browser, too.
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})

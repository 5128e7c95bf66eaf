import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const tests = ['packages/*/test/**/*.test.ts', 'servers/*/test/**/*.test.ts', 'test/**/*.test.ts']

/** Files that get a process of their own: they measure it, or change what all of it shares. The others share theirs. */
const alone = [
  'packages/host/test/connections/chaos.test.ts',
  'packages/host/test/inbox/interleavings.test.ts',
  'packages/sdk/test/links/stdio.test.ts',
  'test/interop/**/*.test.ts',
  'test/runtimes/*.test.ts',
  'test/torture/**/*.test.ts',
]

// In-process tests run the sources; tests that start a child process run what `npm run build` wrote.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@jackfield\/sdk$/, replacement: source('packages/sdk/src/index.ts') },
      {
        find: /^@jackfield\/sdk\/http$/,
        replacement: source('packages/sdk/src/transports/server/http/index.ts'),
      },
      { find: /^@jackfield\/sdk\/auth$/, replacement: source('packages/sdk/src/auth/server/index.ts') },
      {
        find: /^@jackfield\/sdk\/stdio$/,
        replacement: source('packages/sdk/src/transports/server/stdio.ts'),
      },
      {
        find: /^@jackfield\/sdk\/socket$/,
        replacement: source('packages/sdk/src/transports/server/socket.ts'),
      },
      { find: /^@jackfield\/sdk\/client$/, replacement: source('packages/sdk/src/client/index.ts') },
      {
        find: /^@jackfield\/sdk\/client\/auth$/,
        replacement: source('packages/sdk/src/auth/client/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/client\/auth\/node$/,
        replacement: source('packages/sdk/src/auth/client/node/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/client\/stdio$/,
        replacement: source('packages/sdk/src/transports/client/stdio.ts'),
      },
      {
        find: /^@jackfield\/sdk\/client\/socket$/,
        replacement: source('packages/sdk/src/transports/client/socket.ts'),
      },
      { find: /^@jackfield\/sdk\/compose$/, replacement: source('packages/sdk/src/proxy/index.ts') },
      {
        find: /^@jackfield\/sdk\/backplane\/sqlite$/,
        replacement: source('packages/sdk/src/backplane/sqlite.ts'),
      },
      {
        find: /^@jackfield\/sdk\/client\/tasks$/,
        replacement: source('packages/sdk/src/extensions/tasks/client/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/extensions\/tasks$/,
        replacement: source('packages/sdk/src/extensions/tasks/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/extensions\/tasks\/sqlite$/,
        replacement: source('packages/sdk/src/extensions/tasks/sqlite.ts'),
      },
      {
        find: /^@jackfield\/sdk\/client\/skills$/,
        replacement: source('packages/sdk/src/extensions/skills/client/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/extensions\/skills$/,
        replacement: source('packages/sdk/src/extensions/skills/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/extensions\/skills\/node$/,
        replacement: source('packages/sdk/src/extensions/skills/node/index.ts'),
      },
      {
        find: /^@jackfield\/sdk\/extensions\/ui$/,
        replacement: source('packages/sdk/src/extensions/ui/index.ts'),
      },
      { find: /^@jackfield\/sdk\/schema$/, replacement: source('packages/sdk/src/json-schema/index.ts') },
      {
        find: /^@jackfield\/sdk\/telemetry$/,
        replacement: source('packages/sdk/src/telemetry/index.ts'),
      },
      { find: /^@jackfield\/sdk\/testing$/, replacement: source('packages/sdk/src/testing/index.ts') },
      { find: /^@jackfield\/redis$/, replacement: source('packages/redis/src/index.ts') },
      { find: /^@jackfield\/host$/, replacement: source('packages/host/src/index.ts') },
      { find: /^@jackfield\/server-travel$/, replacement: source('servers/travel/src/index.ts') },
    ],
  },
  test: {
    globalSetup: [source('test/setup/run-folder.ts')],
    setupFiles: ['wire', 'endings', 'properties'].map((name) => source(`test/setup/${name}.ts`)),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: alone },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: tests,
          exclude: [...configDefaults.exclude, ...alone],
          isolate: false,
        },
      },
    ],
  },
})

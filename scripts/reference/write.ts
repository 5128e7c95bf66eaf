import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root, run } from '../run.ts'
import { entries } from './entries.ts'

const tools = join(root, 'scripts/reference')
const out = join(root, 'docs/reference')
const limitMs = 300_000

// A page is named by its file, so every entry gets a file whose path is what is imported.
const desk = mkdtempSync(join(tmpdir(), 'jackfield-reference-'))
const files = entries().map(({ name, file }) => {
  const path = join(desk, `${name}.ts`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `export * from ${JSON.stringify(file)}\n`)
  return path
})
const config = join(desk, 'tsconfig.json')
const compilerOptions = {
  composite: false,
  incremental: false,
  noEmit: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
}
writeFileSync(config, JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions, files }))

try {
  await must(['npm', 'ci', '--prefix', tools, '--no-audit', '--no-fund'])
  rmSync(out, { recursive: true, force: true })
  const typedoc = join(tools, 'node_modules/typedoc/bin/typedoc')
  const options = [
    '--options',
    join(tools, 'typedoc.json'),
    '--tsconfig',
    config,
    '--basePath',
    desk,
    '--out',
    out,
  ]
  await must(['node', typedoc, ...options, ...files.flatMap((file) => ['--entryPoints', file])])
  console.log(`The reference of ${files.length} entry points begins at docs/reference/README.md.`)
} finally {
  rmSync(desk, { recursive: true, force: true })
}

async function must(command: string[]): Promise<void> {
  const { code, output } = await run(command, { limitMs })
  if (code === 0) return
  console.error(output)
  throw new Error(`${command.slice(0, 2).join(' ')} failed with exit code ${code}`)
}

import { build } from 'esbuild'
import { here } from './place.ts'

/** A program of this folder and all it imports, as one module without anything of Node's. */
export async function bundle(program: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here(`programs/${program}`)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    external: ['node:*'],
  })
  return outputFiles.map(({ text }) => text).join('')
}

import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { configFiles, type Host, type LayeredConfig, type Reconfigured } from '@jackfield/host'
import { CliError } from './exit.ts'
import type { Io } from './io.ts'
import { type ConfigChoice, layersOf, problemLine, readLayers } from './target.ts'

const settleMs = 200

/**
 * Follows the files of the configuration until the returned function is called: what changed in them is added, taken
 * away or started anew, the rules in them count from then on, and everything else goes on. `told` hears what was done; a
 * file that cannot be used changes nothing.
 */
export function followConfig(
  host: Host,
  options: ConfigChoice,
  io: Pick<Io, 'env' | 'cwd'>,
  told: (event: { config: LayeredConfig; done: Reconfigured; policy?: true } | { problem: string }) => void,
): () => void {
  const files = configFiles(layersOf(options, io)).map(({ file }) => file)
  let timer: NodeJS.Timeout | undefined
  let last: Promise<unknown> = Promise.resolve()
  const read = async (): Promise<void> => {
    try {
      const config = await readLayers(options, io)
      const problem = config.problems.find(({ file, path }) => path === '' && config.broken.includes(file))
      // Until the file can be read again, what it said before holds.
      if (problem !== undefined) return told({ problem: problemLine(problem) })
      const { servers, rules, defaultVerdict } = config
      const policy = { rules, ...(defaultVerdict !== undefined && { defaultVerdict }) }
      let other: { policy?: true } = {}
      const off = host.on(({ type }) => {
        if (type === 'policy') other = { policy: true }
      })
      const done = await host.reconfigure(servers, policy).finally(off)
      told({ config, done, ...other })
    } catch (error) {
      if (error instanceof CliError) told({ problem: error.message })
    }
  }
  const soon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      last = last.then(read)
    }, settleMs)
  }
  // Editors replace files, so what is watched is the folder.
  const watchers = [...new Set(files.map((file) => dirname(file)))].flatMap((folder) => {
    const names = files.filter((file) => dirname(file) === folder).map((file) => basename(file))
    try {
      return [
        watch(folder, (_event, name) => {
          if (name === null || names.includes(name)) soon()
        }).on('error', () => {}),
      ]
    } catch {
      return []
    }
  })
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

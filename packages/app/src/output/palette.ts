import picocolors from 'picocolors'

/** Colours, or functions that return text unchanged. */
export type Palette = ReturnType<typeof picocolors.createColors>

/** Colours for one output stream: only on a terminal, and not if NO_COLOR is set. FORCE_COLOR turns them on. */
export function paletteFor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): Palette {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return picocolors.createColors(false)
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '' && env.FORCE_COLOR !== '0'
  return picocolors.createColors(forced || (stream.isTTY === true && env.TERM !== 'dumb'))
}

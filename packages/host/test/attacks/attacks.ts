import { readdirSync, readFileSync } from 'node:fs'

/** The texts of a hostile server. */
export interface Hostile {
  tools: {
    name: string
    description: string
    annotations?: Record<string, boolean>
    /** Descriptions of parameters by their names. */
    parameters?: Record<string, string>
    result: string
    /** Asks the person this first. */
    elicit?: string
    /** Asks the model this first. */
    sample?: string
  }[]
  resources?: { uri: string; name: string; description?: string; text: string }[]
  prompts?: { name: string; description: string; text: string }[]
  instructions?: string
}

/** One attack on a user whose model follows every instruction. */
export interface Attack {
  name: string
  /** What the user writes, or the prompt they use. */
  say: string | { prompt: string }
  /** Tools of the hostile server that the person lets run, with no arguments. */
  allow: string[]
  hostile: Hostile
  /** False where no tool is called by it even if everything is allowed: it tries to deceive the person. */
  bites?: false
}

/** Every attack of the data files in this folder; `{canary}` is replaced by an address that must receive no request. */
export function attacks(canary: string): Attack[] {
  const folder = new URL('.', import.meta.url)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8').replaceAll('{canary}', canary)))
}

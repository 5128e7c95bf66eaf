import { createRequire } from 'node:module'
import type * as Fflate from 'fflate'
import type * as Jsonc from 'jsonc-parser'
import type * as Toml from 'smol-toml'
import type * as Yaml from 'yaml'

const load = createRequire(import.meta.url)

/** Libraries that most programs never need: each is loaded synchronously on first use. */
export const libraries = {
  /** For bundles. */
  get fflate(): typeof Fflate {
    return load('fflate')
  },
  /** For configurations in JSON. */
  get jsonc(): typeof Jsonc {
    return load('jsonc-parser')
  },
  /** For configurations in TOML. */
  get toml(): typeof Toml {
    return load('smol-toml')
  },
  /** For configurations in YAML. */
  get yaml(): typeof Yaml {
    return load('yaml')
  },
}

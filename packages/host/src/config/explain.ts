import { valueAt } from '../shared/json.ts'
import type { ExplainedField, ExplainedServer, FieldOrigin } from '../types/index.ts'
import type { LayeredConfig } from './layers.ts'
import { pathOf } from './reader.ts'
import { isSecretName } from './variables.ts'

/** The named servers or all, with file and line of each value. `redact` replaces secrets in texts. */
export function explainServers(
  config: LayeredConfig,
  redact: (text: string) => string,
  names: readonly string[] = Object.keys(config.servers),
): ExplainedServer[] {
  return names.flatMap((name) => {
    const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
    const origin = config.origins[name]
    if (server === undefined || origin === undefined) return []
    const fields = origin.fields.map((field) => ({
      ...field,
      value: hideSecret(field, redact(textAt(server, field.field))),
    }))
    return [{ name, ...origin, fields }]
  })
}

/** The global settings, with file and line of each. */
export function explainSettings(config: LayeredConfig): ExplainedField[] {
  return config.settings.map((setting) => ({ ...setting, value: textAt(config, setting.field) }))
}

/** A literal secret is hidden, also before its server was started. */
function hideSecret({ field }: FieldOrigin, value: string): string {
  const [group, name] = pathOf(field)
  const isSecret = (group === 'env' || group === 'headers') && typeof name === 'string' && isSecretName(name)
  return isSecret && !/^(?:\w+ )?(?:\$\{[^}]*\}|\[[^\]]*\])*$/.test(value) ? `[${name}]` : value
}

/** The value at a path such as `args[0]`: text as it is, anything else as JSON. */
export function textAt(config: object, field: string): string {
  const value = valueAt(config, pathOf(field))
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

/** Where variables are looked up; `process.env` by default. */
export type ConfigEnvironment = Readonly<Record<string, string | undefined>>

export type Expanded = { text: string } | { problem: string }

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g
const foreign = /\$\{(?:input|env|secret|file):[^}]*\}/

/**
 * Replaces `${NAME}` and `${NAME:-default}`. As in a shell, the default also stands in for an empty variable. Every
 * other use of `$` is left as it is.
 */
export function expand(text: string, env: ConfigEnvironment): Expanded {
  const unknown = foreign.exec(text)
  if (unknown !== null) {
    return {
      problem: `${unknown[0]} is not supported here. Put the value into an environment variable and write \${NAME}`,
    }
  }
  const missing: string[] = []
  const expanded = text.replace(variable, (_whole, name: string, fallback: string | undefined) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
    if (value === undefined) missing.push(name)
    return value ?? ''
  })
  if (missing.length === 0) return { text: expanded }
  const names = [...new Set(missing)]
  return {
    problem: `the environment variable ${names.join(' and ')} is not set. Set it, or give a default with \${${names[0]}:-…}`,
  }
}

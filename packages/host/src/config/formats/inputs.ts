import { isRecord } from '../../shared/json.ts'
import type { ConfigInput } from '../../types/index.ts'
import type { Found } from './form.ts'

/** The `inputs` of a file: what the person is asked for once. */
export function readInputs(value: unknown, problems: Found['problems']): ConfigInput[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) {
    problems.push({ path: ['inputs'], severity: 'error', message: 'must be a list' })
    return []
  }
  return value.flatMap((item: unknown, index) => {
    const path = ['inputs', index]
    if (!isRecord(item) || typeof item['id'] !== 'string') {
      problems.push({ path, severity: 'error', message: 'must be an object with an "id"' })
      return []
    }
    const { id, type, description, password, options } = item
    if (type === 'command') {
      const message = `is computed by another program (type "command"). You are asked for \${input:${id}} instead`
      problems.push({ path, severity: 'warning', message })
    }
    const texts = Array.isArray(options) ? options.map(optionText).filter((text) => text !== undefined) : []
    const preset = item['default']
    return [
      {
        id,
        ...(typeof description === 'string' && { description }),
        ...(password === true && { password }),
        ...(typeof preset === 'string' && { default: preset }),
        ...(texts.length > 0 && { options: texts }),
      },
    ]
  })
}

function optionText(option: unknown): string | undefined {
  if (typeof option === 'string') return option
  return isRecord(option) && typeof option['value'] === 'string' ? option['value'] : undefined
}

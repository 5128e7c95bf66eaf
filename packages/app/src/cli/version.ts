import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** This program's version, from its package.json. */
export const version: string = (() => {
  const text = readFileSync(fileURLToPath(import.meta.resolve('jackfield/package.json')), 'utf8')
  const value: unknown = JSON.parse(text)
  const version =
    typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined
  return typeof version === 'string' ? version : '0.0.0'
})()

import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ToolError } from '@jackfield/sdk'
import type { Conversion, ConversionJob } from './convert.ts'
import { limits } from './types.ts'

/**
 * Runs conversions in threads: at most two at a time, each with limits of time and memory, so that no page blocks the server. A
 * page whose main content is not found in time is returned whole.
 */

export interface Converted {
  readonly title: string | undefined
  readonly content: string
  readonly notes: readonly string[]
}

const file = fileURLToPath(new URL(`./convert-worker${extname(import.meta.url)}`, import.meta.url))

let running = 0
const waiting: (() => void)[] = []

/**
 * Converts a page.
 * @throws ToolError if even the whole page is not converted in time
 */
export async function convertInThread(job: ConversionJob, signal: AbortSignal): Promise<Converted> {
  if (running >= limits.conversions) await place(signal)
  else running++
  try {
    signal.throwIfAborted()
    return await runThread(job, signal)
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

/** Waits for a place that another conversion frees. */
function place(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push(resolve)
    const leave = (): void => {
      const at = waiting.indexOf(resolve)
      if (at === -1) return
      waiting.splice(at, 1)
      reject(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
}

function runThread(job: ConversionJob, signal: AbortSignal): Promise<Converted> {
  return new Promise((resolve, reject) => {
    let whole: Extract<Conversion, { type: 'whole' }> | undefined
    const worker = new Worker(file, {
      workerData: job,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: limits.conversionHeapMb },
    })
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      worker.removeAllListeners()
      worker.on('error', () => {})
      worker.terminate().catch(() => {})
      settle()
    }
    const finish = (main: Partial<Converted> = {}): void => {
      if (whole === undefined) {
        end(() => reject(tooHard()))
        return
      }
      const { title, content, notes } = whole
      end(() => resolve({ title, content, notes, ...main }))
    }
    const stop = (): void => end(() => reject(signal.reason))
    let timer = setTimeout(finish, limits.conversionMs)
    signal.addEventListener('abort', stop, { once: true })
    worker.on('message', (conversion: Conversion) => {
      if (conversion.type === 'whole') {
        whole = conversion
        clearTimeout(timer)
        timer = setTimeout(finish, limits.extractionMs)
      } else if (conversion.type === 'main') {
        const isPart = conversion.content.length < (whole?.content.length ?? 0)
        const part = isPart ? ['Only the main content is shown; "format": "html" returns everything.'] : []
        const notes = [...(whole?.notes ?? []), ...part]
        finish({ title: conversion.title, content: conversion.content, notes })
      } else finish()
    })
    // Out of memory, or a fault of the libraries on this page.
    worker.on('error', () => finish())
    worker.on('exit', () => finish())
  })
}

function tooHard(): ToolError {
  return new ToolError(
    'The page cannot be converted to Markdown within the limits of time and memory. Fetch it with "format": "html".',
  )
}

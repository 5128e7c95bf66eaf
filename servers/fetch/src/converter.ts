import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ToolError } from '@jackfield/sdk'
import type { Conversion, ConversionJob } from './convert.ts'
import { limits } from './types.ts'

/**
 * Runs conversions in worker threads, each with limits of time and memory, so that no page blocks the server. If the extraction
 * of the main content takes too long, the whole page is returned.
 */

export interface Converted {
  readonly title: string | undefined
  readonly content: string
  readonly notes: readonly string[]
}

const workerFile = fileURLToPath(new URL(`./convert-worker${extname(import.meta.url)}`, import.meta.url))

let running = 0
const waiting: (() => void)[] = []

/**
 * Converts a page.
 * @throws ToolError if even the whole page is not converted in time
 */
export async function convertInThread(job: ConversionJob, signal: AbortSignal): Promise<Converted> {
  if (running >= limits.conversions) await waitForSlot(signal)
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

/** Waits until another conversion ends and passes on its slot. */
function waitForSlot(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push(resolve)
    const onAbort = (): void => {
      const at = waiting.indexOf(resolve)
      if (at === -1) return
      waiting.splice(at, 1)
      reject(signal.reason)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

function runThread(job: ConversionJob, signal: AbortSignal): Promise<Converted> {
  return new Promise((resolve, reject) => {
    let whole: Extract<Conversion, { type: 'whole' }> | undefined
    const worker = new Worker(workerFile, {
      workerData: job,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: limits.conversionHeapMb },
    })
    const settleWith = (settle: () => void): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      worker.removeAllListeners()
      worker.on('error', () => {})
      worker.terminate().catch(() => {})
      settle()
    }
    const finish = (main: Partial<Converted> = {}): void => {
      if (whole === undefined) {
        settleWith(() => reject(conversionError()))
        return
      }
      const { title, content, notes } = whole
      settleWith(() => resolve({ title, content, notes, ...main }))
    }
    const onAbort = (): void => settleWith(() => reject(signal.reason))
    let timer = setTimeout(finish, limits.conversionMs)
    signal.addEventListener('abort', onAbort, { once: true })
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
    // Out of memory, or an error of the HTML libraries.
    worker.on('error', () => finish())
    worker.on('exit', () => finish())
  })
}

function conversionError(): ToolError {
  return new ToolError(
    'The page cannot be converted to Markdown within the limits of time and memory. Fetch it with "format": "html".',
  )
}

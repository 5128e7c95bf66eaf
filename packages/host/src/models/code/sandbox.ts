import { stripTypeScriptTypes } from 'node:module'
import quickjs from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
} from 'quickjs-emscripten-core'
import type { FromProgram, Job } from './process.ts'

// The package declares its CommonJS form, in which the engine is nested one level deeper.
const engine = 'default' in quickjs ? quickjs.default : quickjs
const pageBytes = 65_536
/** The engine's initial memory. */
const minPages = 256
const maxLogLines = 5_000
const maxShowCalls = 100

/** Starts the program; returns the function that delivers call results to it. */
export async function runInSandbox(
  job: Job,
  send: (message: FromProgram) => void,
): Promise<(id: number, answer: string) => void> {
  // The engine does not count its allocations in WebAssembly, so the memory limit is set on the WebAssembly memory.
  const pages = Math.max(minPages, Math.ceil(job.memoryBytes / pageBytes))
  const wasmMemory = new WebAssembly.Memory({ initial: minPages, maximum: pages })
  const variant = newVariant(engine, { wasmMemory })
  const module = await newQuickJSWASMModuleFromVariant(variant)
  const runtime = module.newRuntime()
  const vm = runtime.newContext()
  const pendingCalls = new Map<number, QuickJSDeferredPromise>()
  let calls = 0
  let remainingOutput = job.outputCharacters
  let lines = 0
  let shown = 0
  let hasEnded = false
  let cpuMs = 0
  let startedAt = 0
  let isCpuExhausted = false

  const reportEnd = (
    outcome: 'ok' | 'error' | 'limit',
    details: { value?: string; error?: string } = {},
  ): void => {
    if (hasEnded) return
    hasEnded = true
    send({ type: 'end', outcome, ...details })
  }

  runtime.setInterruptHandler(() => {
    isCpuExhausted ||= cpuMs + performance.now() - startedAt > job.cpuMs
    return isCpuExhausted || hasEnded
  })

  /** Runs pending jobs of the program until it waits or ends. */
  function runJobs(step: () => void): void {
    if (hasEnded) return
    startedAt = performance.now()
    try {
      step()
      for (let hasJobs = true; hasJobs && !isCpuExhausted && !hasEnded; ) {
        const jobs = runtime.executePendingJobs()
        if (jobs.error) {
          failWith(vm, jobs.error)
          break
        }
        hasJobs = jobs.value > 0
      }
    } catch (error) {
      reportError(error instanceof Error ? error.message : String(error))
    }
    cpuMs += performance.now() - startedAt
    if (isCpuExhausted) reportEnd('limit', { error: `It computed for more than ${job.cpuMs} ms.` })
    else if (pendingCalls.size === 0) {
      reportEnd('error', { error: 'It waits for something that never comes: no call is under way.' })
    }
  }

  function reportError(message: string): void {
    if (isCpuExhausted) return
    // If there is no room for an error object, null is thrown.
    const memory = message === 'null' || /out of memory|memory access out of bounds/i.test(message)
    if (memory) reportEnd('limit', { error: `It used more than ${job.memoryBytes} bytes of memory.` })
    else reportEnd('error', { error: withProgramColumns(message, job.file).slice(0, 4_000) })
  }

  function failWith(context: QuickJSContext, error: QuickJSHandle): void {
    const value: unknown = error.consume((handle) => context.dump(handle))
    reportError(
      typeof value === 'object' && value !== null && 'message' in value
        ? valueText(value.message)
        : valueText(value),
    )
  }

  /** A text cut to the remaining output; undefined if nothing remains. */
  function limitOutput(text: string): string | undefined {
    if (remainingOutput <= 0) return undefined
    const start = text.slice(0, remainingOutput)
    remainingOutput -= start.length
    return start.length < text.length || remainingOutput <= 0
      ? `${start}… [cut: that is all it may put out]`
      : start
  }

  const call = vm.newFunction('call', (server, tool, args) => {
    const promise = vm.newPromise()
    calls += 1
    if (calls > job.calls) {
      const error = `A program may make ${job.calls} calls, and these are made`
      promise.resolve(vm.newString(JSON.stringify({ error, denied: false })))
      return promise.handle
    }
    const id = calls
    pendingCalls.set(id, promise)
    send({
      type: 'call',
      id,
      server: vm.getString(server),
      tool: vm.getString(tool),
      arguments: vm.getString(args),
    })
    return promise.handle
  })
  const show = vm.newFunction('show', (text, handle) => {
    shown += 1
    if (shown > maxShowCalls) return
    const number = vm.getNumber(handle)
    if (number >= 0) {
      send({ type: 'show', handle: number })
      return
    }
    const shownText = limitOutput(vm.getString(text))
    if (shownText !== undefined) send({ type: 'show', text: shownText })
  })
  const log = vm.newFunction('log', (text) => {
    lines += 1
    const loggedText = lines > maxLogLines ? undefined : limitOutput(vm.getString(text))
    if (loggedText !== undefined) send({ type: 'log', text: loggedText })
  })
  const done = vm.newFunction('done', (value) => {
    const text = vm.getString(value)
    reportEnd('ok', text === '' ? {} : { value: text })
  })
  const thrown = vm.newFunction('failed', (error) => reportError(vm.getString(error)))

  runJobs(() => {
    const createApi = vm.unwrapResult(vm.evalCode(prelude, 'jackfield.js'))
    const list = vm.newString(JSON.stringify(job.servers))
    const run = vm.unwrapResult(
      vm.callFunction(createApi, vm.undefined, call, show, log, list, vm.newString(job.file)),
    )
    const program = compiled(vm, job)
    if ('problem' in program) reportError(program.problem)
    else {
      const started = vm.callFunction(run, vm.undefined, program.main, done, thrown)
      if (started.error) failWith(vm, started.error)
    }
  })

  return (id, answer) => {
    const promise = pendingCalls.get(id)
    if (promise === undefined) return
    pendingCalls.delete(id)
    runJobs(() => vm.newString(answer).consume((text) => promise.resolve(text)))
  }
}

/** The program as a function; types are removed if it is not JavaScript. */
function compiled(vm: QuickJSContext, { program, file }: Job): { main: QuickJSHandle } | { problem: string } {
  const text = `${programPrefix}${program}\n})`
  const first = vm.evalCode(text, file)
  if (!first.error) return { main: first.value }
  const problem = first.error.consume((handle) => errorText(vm.dump(handle)))
  const statement = /^[\t ]*(?:import|export)\b(?!\s*[(.])/m.exec(program)
  let javaScript: string
  try {
    javaScript = stripTypeScriptTypes(text)
  } catch (error) {
    if (statement !== null) return { problem: moduleProblem(program.slice(0, statement.index), file) }
    return { problem: typeScriptProblem(error, file) ?? problem }
  }
  const second = vm.evalCode(javaScript, file)
  if (!second.error) return { main: second.value }
  return { problem: second.error.consume((handle) => errorText(vm.dump(handle))) }
}

/** What precedes the program on its first line. */
const programPrefix = '(async () => {'

/** An error text whose columns are those of the program. */
function withProgramColumns(text: string, file: string): string {
  const parts = text.split(`${file}:1:`)
  const column = (part: string): string =>
    part.replace(/^\d+/, (digits) => String(Math.max(1, Number(digits) - programPrefix.length)))
  return parts.map((part, at) => (at === 0 ? part : column(part))).join(`${file}:1:`)
}

function moduleProblem(precedingText: string, file: string): string {
  return (
    'SyntaxError: A program has no import and no export. It is the body of an async function: call tools with ' +
    `servers.<server>.<tool>({ … }), and return the result\n    at ${file}:${precedingText.split('\n').length}`
  )
}

/** The error of Node's parser, whose stack begins with the line number, the line and a marker below the column. */
function typeScriptProblem(error: unknown, file: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  const [, line, indent] = /^:(\d+)\n[^\n]*\n( *)\^/.exec(error.stack ?? '') ?? []
  if (line === undefined || indent === undefined) return undefined
  return `SyntaxError: ${error.message}\n    at ${file}:${line}:${indent.length + 1}`
}

/** A thrown value as text. `String` would call code of the program. */
function valueText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return valueText(error)
  const { name, message, stack } = Object.fromEntries(Object.entries(error))
  return `${valueText(name ?? 'Error')}: ${valueText(message ?? '')}${typeof stack === 'string' ? `\n${stack.trim()}` : ''}`
}

/**
 * The program's globals, in JavaScript that runs inside the engine. It receives host functions and returns a function that runs a
 * program and reports its outcome.
 */
const prelude: string = `((call, show, log, list, file) => {
  'use strict'
  const { parse, stringify } = JSON
  const { freeze, create, assign } = Object
  const text = (value) => {
    if (typeof value === 'string') return value
    if (value instanceof Error) return value.name + ': ' + value.message
    try {
      const json = stringify(value)
      return json === undefined ? String(value) : json
    } catch {
      return String(value)
    }
  }
  const stub = (server, tool) => async (args = {}) => {
    const json = stringify(args)
    if (typeof args !== 'object' || args === null || Array.isArray(args))
      throw new TypeError(tool + ' of ' + server + ' takes one object with named arguments')
    const { result, error, denied } = parse(await call(server, tool, json))
    if (error !== undefined) throw assign(new Error(error), { name: 'ToolError', denied, server, tool })
    return result
  }
  const closed = (members, unknown) =>
    new Proxy(freeze(assign(create(null), members)), {
      get(target, name) {
        if (name in target || typeof name === 'symbol' || name === 'then' || name === 'toJSON') return target[name]
        throw new TypeError(unknown(name, Object.keys(target)))
      },
    })
  const few = (names) => names.slice(0, 40).join(', ') + (names.length > 40 ? ' and ' + (names.length - 40) + ' more' : '')
  const servers = create(null)
  for (const [server, tools] of parse(list)) {
    const own = create(null)
    for (const tool of tools) own[tool] = stub(server, tool)
    servers[server] = closed(own, (name, all) => server + ' has no tool "' + name + '". It has: ' + few(all))
  }
  const write = (...values) => log(values.map(text).join(' '))
  const print = (...things) => {
    for (const thing of things) {
      if (typeof thing?.handle === 'number') show('', thing.handle)
      else if (Array.isArray(thing?.content) && thing.content.every((part) => typeof part?.handle === 'number'))
        for (const part of thing.content) show('', part.handle)
      else show(text(thing), -1)
    }
  }
  const own = {
    servers: closed(servers, (name, all) => 'There is no server "' + name + '". There are: ' + few(all)),
    console: freeze({ log: write, info: write, warn: write, error: write, debug: write }),
    show: print,
  }
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(globalThis, name, { value, enumerable: true })
  const where = (error) =>
    String(error.stack ?? '').split('\\n').filter((line) => line.includes(file)).slice(0, 5).join('\\n')
  return (program, done, failed) => {
    program().then(
      (value) => done(value === undefined ? '' : text(stringify(value))),
      (error) => failed(error instanceof Error ? (text(error) + '\\n' + where(error)).trim() : 'It threw ' + text(error)),
    ).catch((error) => failed(text(error)))
  }
})`

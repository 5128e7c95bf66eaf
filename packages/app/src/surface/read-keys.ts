import { createInterface, type Key } from 'node:readline'
import type { Readable } from 'node:stream'
import type { ScreenKey } from '../forms/screen.ts'

/** Milliseconds within which the next part of a paste in several reads arrives. */
const pasteGapMs = 30

/**
 * Reads keys until the returned function is called. A paste is one key that inserts all of it, with or without bracketed paste: a
 * line break is Enter only if nothing was read after it. `ended` is called when the input ends.
 */
export function readKeys(input: Readable, press: (key: ScreenKey) => void, ended: () => void): () => void {
  let isClosed = false
  let pasted: string | undefined
  let burst: { keys: number; breaks: number; waiting?: 'return' | 'enter'; late: boolean } | undefined
  let lineReader = open()

  function open(): ReturnType<typeof createInterface> {
    const lineInterface = createInterface({ input, terminal: true, escapeCodeTimeout: 50 })
    // The caller decides what keys do, so the interface must neither end the program nor close by itself.
    lineInterface.on('SIGINT', () => {})
    lineInterface.once('close', () => {
      if (isClosed) return
      if (input.readableEnded || input.destroyed) ended()
      else lineReader = open()
    })
    return lineInterface
  }

  function endBurst(): void {
    if (burst === undefined || isClosed) return
    const { waiting, keys, breaks, late } = burst
    if (waiting !== undefined && breaks > 0 && !late) {
      burst.late = true
      setTimeout(endBurst, pasteGapMs)
      return
    }
    burst = undefined
    // Alone it is Ctrl+J; after text it is a line typed before the terminal was read key by key.
    if (waiting !== undefined) press({ name: waiting === 'enter' && keys === 1 ? 'enter' : 'return' })
  }

  function onKeypress(typed: string | undefined, key: Key): void {
    if (key.name === 'paste-start') {
      pasted = ''
      return
    }
    if (pasted !== undefined) {
      if (key.name !== 'paste-end') pasted += typed ?? ''
      else {
        const text = cleanPaste(pasted)
        pasted = undefined
        press({ typed: text })
      }
      return
    }
    if (burst === undefined) {
      burst = { keys: 0, breaks: 0, late: false }
      setImmediate(endBurst)
    }
    if (burst.waiting !== undefined) {
      if (burst.waiting === 'return' && key.name === 'enter') return
      delete burst.waiting
      burst.breaks += 1
      press({ typed: '\n' })
    }
    burst.keys += 1
    const isBreak = (key.name === 'return' || key.name === 'enter') && key.meta !== true && key.ctrl !== true
    if (isBreak) burst.waiting = key.name === 'enter' ? 'enter' : 'return'
    else press({ ...key, ...textOfKey(typed, key) })
  }

  input.on('keypress', onKeypress)
  return () => {
    isClosed = true
    input.off('keypress', onKeypress)
    lineReader.close()
  }
}

/** The text of a key: empty for navigation and control keys. */
export function textOfKey(typed: string | undefined, { ctrl, meta }: Key): Pick<ScreenKey, 'typed'> {
  if (typed === undefined || ctrl === true || meta === true || /^\p{Cc}/u.test(typed)) return {}
  return { typed }
}

/** A pasted text without control characters, except line feeds. */
export function cleanPaste(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(/[^\P{Cc}\n\t]/gu, '')
}

import { useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { isTyping, keyBindings } from './bindings.ts'

/** Milliseconds within which the second key of a chord counts. */
const chordMs = 3_000

/** Handles key bindings. `actions`: functions by the `act` of a binding; bindings of cards click a button instead. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const [, navigate] = useLocation()
  // New actions must not add the listener again, which would forget the first key of a chord.
  const current = useRef(actions)
  current.current = actions
  useEffect(() => {
    let last: { key: string; timeStamp: number } | undefined
    const onKey = (event: KeyboardEvent): void => {
      if (event.repeat || event.isComposing || event.defaultPrevented) return
      const mod = event.ctrlKey || event.metaKey
      if (event.altKey || (!mod && isTyping(event))) return
      const key = mod ? `Mod+${event.key.length === 1 ? event.key.toUpperCase() : event.key}` : event.key
      const chord =
        last !== undefined && event.timeStamp - last.timeStamp < chordMs ? `${last.key} ${key}` : undefined
      const card = event.target instanceof Element ? event.target.closest('[data-card]') : null
      const candidates = keyBindings.filter(
        ({ where }) => where !== 'composer' && (where !== 'card' || card !== null),
      )
      const binding =
        candidates.find(({ keys }) => keys === chord) ??
        candidates.find(
          ({ keys, where }) =>
            keys === key &&
            (where === 'card') ===
              (card !== null &&
                candidates.some((candidate) => candidate.where === 'card' && candidate.keys === key)),
        )
      last = mod ? undefined : { key, timeStamp: event.timeStamp }
      if (binding === undefined) return
      event.preventDefault()
      if (chord !== undefined && binding.keys === chord) last = undefined
      if (binding.to !== undefined) navigate(binding.to)
      else if (binding.where === 'card')
        card
          ?.querySelector<HTMLElement>(
            (binding.act ?? '')
              .split(' ')
              .map((act) => `[data-act="${act}"]`)
              .join(),
          )
          ?.click()
      else if (binding.act !== undefined) current.current[binding.act]?.()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [navigate])
}

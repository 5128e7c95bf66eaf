import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { isTyping, keyActs } from './acts.ts'

/** Milliseconds within which the second key of a chord counts. */
const chordMs = 3_000

/** Runs the acts of the key table; `acts` are those that are no button on the page. */
export function useKeys(acts: Readonly<Record<string, () => void>>): void {
  const [, navigate] = useLocation()
  useEffect(() => {
    let last: { key: string; at: number } | undefined
    const onKey = (event: KeyboardEvent): void => {
      if (event.repeat || event.isComposing || event.defaultPrevented) return
      const mod = event.ctrlKey || event.metaKey
      if (event.altKey || (!mod && isTyping(event))) return
      const key = mod ? `Mod+${event.key.length === 1 ? event.key.toUpperCase() : event.key}` : event.key
      const chord =
        last !== undefined && event.timeStamp - last.at < chordMs ? `${last.key} ${key}` : undefined
      const card = event.target instanceof Element ? event.target.closest('[data-card]') : null
      const fits = keyActs.filter(({ where }) => where !== 'composer' && (where !== 'card' || card !== null))
      const keyAct =
        fits.find(({ keys }) => keys === chord) ??
        fits.find(
          ({ keys, where }) =>
            keys === key &&
            (where === 'card') ===
              (card !== null && fits.some((one) => one.where === 'card' && one.keys === key)),
        )
      last = mod ? undefined : { key, at: event.timeStamp }
      if (keyAct === undefined) return
      event.preventDefault()
      if (chord !== undefined && keyAct.keys === chord) last = undefined
      if (keyAct.to !== undefined) navigate(keyAct.to)
      else if (keyAct.where === 'card')
        card
          ?.querySelector<HTMLElement>(
            (keyAct.act ?? '')
              .split(' ')
              .map((act) => `[data-act="${act}"]`)
              .join(),
          )
          ?.click()
      else if (keyAct.act !== undefined) acts[keyAct.act]?.()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [acts, navigate])
}

import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef, useState } from 'react'
import { Button } from '../ui/ui.tsx'

/** Milliseconds for which a card has to be whole in view and still before its buttons work. */
const armMs = 500
const lookMs = 100

interface Arming {
  readonly isArmed: boolean
  /** Whether the card is still where it was armed. */
  isStill(): boolean
}

const ArmingContext = createContext<Arming>({ isArmed: false, isStill: () => false })
export const ArmingProvider = ArmingContext

type Place = readonly [left: number, top: number, right: number, bottom: number]

/** Where a card is; undefined unless all of it is in view, also within what scrolls around it. */
function placeOf(element: Element | null): Place | undefined {
  if (element === null || document.visibilityState !== 'visible') return undefined
  const { left, top, right, bottom } = element.getBoundingClientRect()
  if (bottom <= top) return undefined
  let box = { left: 0, top: 0, right: innerWidth, bottom: innerHeight }
  for (let around = element.parentElement; ; around = around.parentElement) {
    const isWhole =
      left >= box.left - 0.5 && top >= box.top - 0.5 && right <= box.right + 0.5 && bottom <= box.bottom + 0.5
    if (!isWhole) return undefined
    let isFixed = false
    while (around !== null && !isFixed && getComputedStyle(around).overflowY === 'visible') {
      isFixed = getComputedStyle(around).position === 'fixed'
      around = around.parentElement
    }
    // What is around an element that is fixed to the window does not hide any of it.
    if (around === null || isFixed) break
    box = around.getBoundingClientRect()
  }
  // Nothing covers it, such as a drawer or a menu.
  const inset = 8
  const [middle, center] = [(left + right) / 2, (top + bottom) / 2]
  const looks = [
    [left + inset, top + inset],
    [right - inset, top + inset],
    [middle, center],
    [left + inset, bottom - inset],
    [right - inset, bottom - inset],
  ] as const
  const isFree = looks.every(([x, y]) => {
    const seen = document.elementFromPoint(x, y)
    return seen !== null && element.contains(seen)
  })
  return isFree ? [left, top, right, bottom] : undefined
}

const same = (one: Place | undefined, other: Place | undefined): boolean =>
  one !== undefined && other !== undefined && one.every((edge, n) => Math.abs(edge - (other[n] ?? 0)) < 1)

/** Arms a card once it was whole in view and still for 500 ms. `version`: another one disarms it. */
export function useArming(card: RefObject<HTMLElement | null>, version: string): Arming {
  const [armed, setArmed] = useState<string>()
  const place = useRef<Place>(undefined)
  useEffect(() => {
    let since = performance.now()
    place.current = undefined
    setArmed(undefined)
    const timer = setInterval(() => {
      const now = placeOf(card.current)
      if (!same(now, place.current)) {
        place.current = now
        since = performance.now()
        setArmed(undefined)
      } else if (performance.now() - since >= armMs) setArmed(version)
    }, lookMs)
    return () => clearInterval(timer)
  }, [card, version])
  return { isArmed: armed === version, isStill: () => same(placeOf(card.current), place.current) }
}

/**
 * A button that decides. It works only while its card is armed, and only for a press that began then: not for a click that
 * was meant for what was under the pointer before.
 */
export function DecisionButton({
  onDecide,
  isOff = false,
  ...rest
}: {
  onDecide: () => void
  isOff?: boolean
  look?: 'primary' | 'quiet' | undefined
  children: ReactNode
  'aria-describedby'?: string | undefined
  'data-act'?: string
}): ReactNode {
  const { isArmed, isStill } = useContext(ArmingContext)
  const pressed = useRef<boolean>(undefined)
  const press = (): void => {
    pressed.current = isArmed && isStill()
  }
  return (
    <Button
      {...rest}
      isOff={isOff || !isArmed}
      data-armed={isArmed && !isOff}
      onPointerDown={press}
      onKeyDown={(event) => {
        if (event.repeat) event.preventDefault()
        else if (event.key === 'Enter' || event.key === ' ') press()
      }}
      onClick={() => {
        // Assistive technology clicks without a press.
        const began = pressed.current ?? true
        pressed.current = undefined
        if (began && isArmed && isStill()) onDecide()
      }}
    />
  )
}

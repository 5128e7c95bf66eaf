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

function placeOf(element: Element | null): Place | undefined {
  if (element === null) return undefined
  const { left, top, right, bottom } = element.getBoundingClientRect()
  const isWhole =
    left >= 0 && top >= 0 && right <= innerWidth + 0.5 && bottom <= innerHeight + 0.5 && bottom > top
  return isWhole && document.visibilityState === 'visible' ? [left, top, right, bottom] : undefined
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

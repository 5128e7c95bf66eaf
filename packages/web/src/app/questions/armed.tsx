import { createContext, type ReactNode, type RefObject, useContext, useEffect, useRef, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Button } from '../ui/ui.tsx'

/** Milliseconds for which a card has to be completely in view and unmoved before its buttons work. */
const armMs = 500
const checkIntervalMs = 100

interface Arming {
  readonly isArmed: boolean
  /** Whether the card has not moved since it was armed. */
  isStill(): boolean
}

const ArmingContext = createContext<Arming>({ isArmed: false, isStill: () => false })
export const ArmingProvider = ArmingContext

type Bounds = readonly [left: number, top: number, right: number, bottom: number]

/** The bounds of a card; undefined unless all of it is in view, also within its scroll containers. */
function visibleBounds(element: Element | null): Bounds | undefined {
  if (element === null || document.visibilityState !== 'visible') return undefined
  const { left, top, right, bottom } = element.getBoundingClientRect()
  if (bottom <= top) return undefined
  let container = { left: 0, top: 0, right: innerWidth, bottom: innerHeight }
  for (let ancestor = element.parentElement; ; ancestor = ancestor.parentElement) {
    const isContained =
      left >= container.left - 0.5 &&
      top >= container.top - 0.5 &&
      right <= container.right + 0.5 &&
      bottom <= container.bottom + 0.5
    if (!isContained) return undefined
    let isFixed = false
    while (ancestor !== null && !isFixed && getComputedStyle(ancestor).overflowY === 'visible') {
      isFixed = getComputedStyle(ancestor).position === 'fixed'
      ancestor = ancestor.parentElement
    }
    // An element with a fixed position is not clipped by its ancestors.
    if (ancestor === null || isFixed) break
    container = ancestor.getBoundingClientRect()
  }
  // Samples five points to detect a covering element, such as a drawer or a menu.
  const inset = 8
  const [middle, center] = [(left + right) / 2, (top + bottom) / 2]
  const samplePoints = [
    [left + inset, top + inset],
    [right - inset, top + inset],
    [middle, center],
    [left + inset, bottom - inset],
    [right - inset, bottom - inset],
  ] as const
  const isUncovered = samplePoints.every(([x, y]) => {
    const topmost = document.elementFromPoint(x, y)
    return topmost !== null && element.contains(topmost)
  })
  return isUncovered ? [left, top, right, bottom] : undefined
}

const isSameBounds = (first: Bounds | undefined, second: Bounds | undefined): boolean =>
  first !== undefined &&
  second !== undefined &&
  first.every((edge, index) => Math.abs(edge - (second[index] ?? 0)) < 1)

/** Arms a card once it was completely in view and unmoved for 500 ms. `version`: a change disarms it. */
export function useArming(card: RefObject<HTMLElement | null>, version: string): Arming {
  const [armedVersion, setArmedVersion] = useState<string>()
  const armedBounds = useRef<Bounds>(undefined)
  useEffect(() => {
    let stillSince = performance.now()
    armedBounds.current = undefined
    setArmedVersion(undefined)
    const timer = setInterval(() => {
      const now = visibleBounds(card.current)
      if (!isSameBounds(now, armedBounds.current)) {
        armedBounds.current = now
        stillSince = performance.now()
        setArmedVersion(undefined)
      } else if (performance.now() - stillSince >= armMs) setArmedVersion(version)
    }, checkIntervalMs)
    return () => clearInterval(timer)
  }, [card, version])
  return {
    isArmed: armedVersion === version,
    isStill: () => isSameBounds(visibleBounds(card.current), armedBounds.current),
  }
}

/** Whether a key presses the button that has the focus. */
const isPress = (key: string): boolean => key === 'Enter' || key === ' '

/**
 * A button that answers a question. It works only while its card is armed, and only if the press began then: a click that was meant
 * for whatever was under the pointer before is ignored.
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
  /** Whether the card was armed when the last press of a pointer began, and when the current press of a key began. */
  const [wasArmedAtPress, wasArmedAtKey] = [useRef(true), useRef(true)]
  return (
    <Button
      {...rest}
      isOff={isOff || !isArmed}
      data-armed={isArmed && !isOff}
      onPointerDown={() => {
        wasArmedAtPress.current = isArmed && isStill()
      }}
      onKeyDown={(event) => {
        if (event.repeat) event.preventDefault()
        else if (isPress(event.key)) wasArmedAtKey.current = isArmed && isStill()
      }}
      onKeyUp={({ key }) => {
        // The click of a space follows its `keyup`.
        if (isPress(key))
          setTimeout(() => {
            wasArmedAtKey.current = true
          })
      }}
      onClick={({ detail }) => {
        // Only a pointer counts its clicks: assistive technology and shortcuts click without a press.
        const isAllowed = detail > 0 ? wasArmedAtPress.current : wasArmedAtKey.current
        if (isAllowed && isArmed && isStill()) onDecide()
      }}
    />
  )
}

/** Denies a question once. Its text is *Deny* unless it has another. */
export function DenyButton({ onDeny, children }: { onDeny: () => void; children?: ReactNode }): ReactNode {
  const t = useText()
  return (
    <DecisionButton onDecide={onDeny} data-act="deny-once">
      {children ?? t('act.deny')}
    </DecisionButton>
  )
}

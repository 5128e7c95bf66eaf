import type { AppDisplayMode, AppHostContext } from '@jackfield/host/browser'
import { type RefObject, useEffect, useRef } from 'react'

/** CSS variables of the MCP Apps extension, with the variable of this page that has the value. */
const variables = {
  '--color-background-primary': '--raised',
  '--color-background-secondary': '--page',
  '--color-background-tertiary': '--sunken',
  '--color-background-info': '--info-tint',
  '--color-background-danger': '--danger-tint',
  '--color-background-success': '--ok-tint',
  '--color-background-warning': '--warn-tint',
  '--color-text-primary': '--ink',
  '--color-text-secondary': '--muted',
  '--color-text-tertiary': '--faint',
  '--color-text-inverse': '--on-accent',
  '--color-text-info': '--info',
  '--color-text-danger': '--danger',
  '--color-text-success': '--ok',
  '--color-text-warning': '--warn',
  '--color-border-primary': '--edge',
  '--color-border-secondary': '--line',
  '--color-ring-primary': '--accent',
  '--font-sans': '--sans',
  '--font-mono': '--mono',
  '--border-radius-sm': '--radius',
  '--border-radius-md': '--radius-large',
} as const

const isDark = matchMedia('(prefers-color-scheme: dark)')

/** The host context of an app: theme, language, size, colours. */
export function appHostContext(
  box: HTMLElement | null,
  displayMode: AppDisplayMode,
  maxHeight: number,
): AppHostContext {
  const root = document.documentElement
  const chosen = root.dataset['theme']
  const computed = getComputedStyle(root)
  const { clientWidth: width = 0, clientHeight: height = 0 } = box ?? {}
  return {
    theme: chosen === 'dark' || (chosen !== 'light' && isDark.matches) ? 'dark' : 'light',
    locale: root.lang,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    displayMode,
    containerDimensions: displayMode === 'inline' ? { width, maxHeight } : { width, height },
    styles: {
      variables: Object.fromEntries(
        Object.entries(variables).map(([name, pageVariable]) => [
          name,
          computed.getPropertyValue(pageVariable).trim(),
        ]),
      ),
    },
    deviceCapabilities: {
      touch: matchMedia('(any-pointer: coarse)').matches,
      hover: matchMedia('(any-hover: hover)').matches,
    },
  }
}

/** Calls `onChange` with the host context at first, and when theme, language, size or display mode change. */
export function useAppHostContext(
  box: RefObject<HTMLElement | null>,
  mode: AppDisplayMode,
  maxHeight: number,
  onChange: (now: AppHostContext) => void,
): void {
  const latest = useRef(onChange)
  latest.current = onChange
  useEffect(() => {
    const { current } = box
    if (current === null) return
    const report = (): void => latest.current(appHostContext(current, mode, maxHeight))
    const sizes = new ResizeObserver(report)
    sizes.observe(current)
    const attributes = new MutationObserver(report)
    attributes.observe(document.documentElement, { attributeFilter: ['data-theme', 'lang'] })
    isDark.addEventListener('change', report)
    report()
    return () => {
      sizes.disconnect()
      attributes.disconnect()
      isDark.removeEventListener('change', report)
    }
  }, [box, mode, maxHeight])
}

import { createContext, useContext } from 'react'

export const dockTabs = ['inbox', 'context', 'log'] as const
export type DockTab = (typeof dockTabs)[number]

export type DockSection = 'attach' | 'tools' | 'folders'

/** The panel beside a screen with three tabs: open questions, context of the conversation, and activity. */
export interface Dock {
  readonly isOpen: boolean
  readonly tab: DockTab
  /** The section to focus. A new object for each request, so that the same section can be focused again. */
  readonly focusRequest: { readonly section: DockSection } | undefined
  /** Opens a tab, or closes the dock where that tab is open. */
  toggle(tab?: DockTab): void
  show(tab: DockTab, section?: DockSection): void
  close(): void
}

const DockContext = createContext<Dock | undefined>(undefined)
export const DockProvider = DockContext

export function useDock(): Dock {
  const dock = useContext(DockContext)
  if (dock === undefined) throw new Error('There is no dock around this component')
  return dock
}

import type { LibraryLeaf } from '@jackfield/host/client'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronDown, ChevronRight, Folder, Server } from 'lucide-react'
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useHost } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import style from './library.module.css'
import { type Children, foldersOf, keyOf, leafKey, pageSize, rowsOf, type TreeRow, withPage } from './tree.ts'

const rowHeight = 36
const overscanRows = 8

/** The tree of all servers, or search results. Only the rows in view are in the document. */
export function TreeView({
  matches,
  chosen,
  shown,
  onChoose,
  onShow,
}: {
  matches: readonly LibraryLeaf[] | undefined
  chosen: ReadonlyMap<string, LibraryLeaf>
  shown: Pick<LibraryLeaf, 'server' | 'uri'> | undefined
  onChoose: (leaves: readonly LibraryLeaf[], isChosen: boolean) => void
  onShow: (leaf: LibraryLeaf) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const { client } = useHost()
  const scroller = useRef<HTMLDivElement>(null)
  const [activeIndex, setActiveIndex] = useState(0)
  const { children, read } = useChildren()
  const { open, toggle, toReveal } = useOpenFolders(shown, read)
  const shownKey = shown && leafKey(shown)
  const rows = useMemo(
    () => (matches === undefined ? rowsOf(children, open) : matches.map(matchRow)),
    [matches, children, open],
  )
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: overscanRows,
    getItemKey: (index) => rows[index]?.key ?? index,
  })
  const items = virtual.getVirtualItems()
  useEffect(() => {
    for (const { index } of items) {
      const row = rows[index]
      if (row?.kind === 'gap') read(row.path, row.index)
    }
  }, [items, rows, read])
  const revealed = rows.findIndex(({ key }) => key === toReveal.current)
  useEffect(() => {
    if (revealed === -1) return
    toReveal.current = undefined
    setActiveIndex(revealed)
    virtual.scrollToIndex(revealed)
  }, [revealed, virtual, toReveal])
  const toggleChoice = async (row: TreeRow): Promise<void> => {
    if (row.kind === 'leaf' && row.leaf.isTemplate !== true && row.leaf.isForPersonOnly !== true)
      onChoose([row.leaf], !chosen.has(row.key))
    if (row.kind !== 'folder') return
    const { resources } = await client.call('library.under', { path: [...row.path] })
    const selectable = resources.filter(({ isForPersonOnly }) => isForPersonOnly !== true)
    const areAll = selectable.every((leaf) => chosen.has(leafKey(leaf)))
    onChoose(selectable, !areAll)
  }
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, to))
    setActiveIndex(next)
    virtual.scrollToIndex(next)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[activeIndex]
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
    }
    const step = steps[event.key]
    if (step !== undefined) {
      move(activeIndex + step)
      if (event.shiftKey && row !== undefined) void toggleChoice(row)
    } else if (event.key === 'Home') move(0)
    else if (event.key === 'End') move(rows.length - 1)
    else if (row === undefined) return
    else if (event.key === ' ') void toggleChoice(row)
    else if (event.key === 'Enter') {
      if (row.kind === 'leaf') onShow(row.leaf)
      else toggle(row)
    } else if (event.key === 'ArrowRight' && row.kind === 'folder') {
      if (row.isOpen) move(activeIndex + 1)
      else toggle(row)
    } else if (event.key === 'ArrowLeft') {
      if (row.kind === 'folder' && row.isOpen) toggle(row)
      else move(rows.findLastIndex((candidate, index) => index < activeIndex && candidate.level < row.level))
    } else return
    event.preventDefault()
  }
  const isEmpty = rows.length === 0
  const isRead = matches !== undefined || children.size > 0
  // The role `tree` requires items.
  const tree = isEmpty
    ? {}
    : {
        role: 'tree',
        tabIndex: 0,
        onKeyDown,
        'aria-multiselectable': true,
        'aria-label': t('library.tree'),
        'aria-activedescendant': `${id}-${Math.min(activeIndex, rows.length - 1)}`,
      }
  return (
    <div ref={scroller} className={style.tree} {...tree}>
      {isEmpty && isRead && <p className={style.none}>{t('library.none')}</p>}
      <div
        role="presentation"
        className={style.space}
        ref={(element) => element?.style.setProperty('height', `${virtual.getTotalSize()}px`)}
      >
        {items.map(({ index, start, key }) => {
          const row = rows[index]
          if (row === undefined) return null
          return (
            <Row
              key={key}
              id={`${id}-${index}`}
              row={row}
              start={start}
              isActive={index === activeIndex}
              isShown={row.key === shownKey}
              isSearch={matches !== undefined}
              choice={choiceOf(row, chosen)}
              onToggle={() => {
                setActiveIndex(index)
                if (row.kind === 'leaf') onShow(row.leaf)
                else toggle(row)
              }}
              onChoose={() => {
                setActiveIndex(index)
                void toggleChoice(row)
              }}
            />
          )
        })}
      </div>
    </div>
  )
}

function matchRow(leaf: LibraryLeaf, index: number, { length }: readonly LibraryLeaf[]): TreeRow {
  return {
    kind: 'leaf',
    key: leafKey(leaf),
    path: [leaf.server],
    leaf,
    level: 1,
    position: index + 1,
    count: length,
  }
}

type Choice = 'on' | 'off' | 'never'

function choiceOf(row: TreeRow, chosen: ReadonlyMap<string, LibraryLeaf>): Choice {
  if (row.kind === 'leaf')
    return row.leaf.isTemplate === true || row.leaf.isForPersonOnly === true
      ? 'never'
      : chosen.has(row.key)
        ? 'on'
        : 'off'
  if (row.kind === 'gap' || row.node.resources === 0) return 'never'
  // A folder counts as chosen if as many of its resources are chosen as it has; their list may not be loaded.
  let count = 0
  const [server] = row.path
  for (const leaf of chosen.values()) if (leaf.server === server && isUnder(leaf, row.path)) count += 1
  return count >= row.node.resources ? 'on' : 'off'
}

/** Whether a resource is below a node of the tree. */
function isUnder({ uri }: LibraryLeaf, [, ...labels]: readonly string[]): boolean {
  let from = 0
  for (const label of labels) {
    const index = uri.indexOf(label, from)
    if (index === -1) return false
    from = index + label.length
  }
  return true
}

/** The loaded children by node, and a function that loads the page of an index. */
function useChildren(): {
  children: ReadonlyMap<string, Children>
  read: (path: readonly string[], index: number) => void
} {
  const { client, queries } = useHost()
  const [children, setChildren] = useState<ReadonlyMap<string, Children>>(new Map())
  const requested = useRef(new Set<string>())
  const read = useCallback(
    (path: readonly string[], index: number) => {
      const from = Math.floor(index / pageSize) * pageSize
      const key = `${keyOf(path)} ${from}`
      if (requested.current.has(key)) return
      requested.current.add(key)
      client
        .call('library.children', { path: [...path], from, limit: pageSize })
        .then((page) =>
          setChildren((before) =>
            new Map(before).set(keyOf(path), withPage(before.get(keyOf(path)), from, page)),
          ),
        )
        // It is requested again when it comes into view.
        .catch(() => requested.current.delete(key))
    },
    [client],
  )
  useEffect(() => {
    read([], 0)
    // What servers list can change: what was read is then read again.
    return queries.getQueryCache().subscribe(({ type, query }) => {
      if (type !== 'updated' || !query.state.isInvalidated || query.queryKey[0] !== 'library') return
      requested.current.clear()
      read([], 0)
    })
  }, [read, queries])
  return { children, read }
}

/**
 * The open folders by the key of their row. Those that lead to the shown resource are opened; `toReveal` is its key until it is in
 * view.
 */
function useOpenFolders(
  shown: Pick<LibraryLeaf, 'server' | 'uri'> | undefined,
  read: (path: readonly string[], index: number) => void,
): {
  open: ReadonlySet<string>
  toggle: (row: TreeRow) => void
  toReveal: RefObject<string | undefined>
} {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const toReveal = useRef<string>(undefined)
  const key = shown && leafKey(shown)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another resource opens its folders
  useEffect(() => {
    if (shown === undefined) return
    const folders = foldersOf(shown)
    setOpen((before) => new Set([...before, ...folders.map(keyOf)]))
    for (const folder of folders) read(folder, 0)
    toReveal.current = key
  }, [key])
  const toggle = (row: TreeRow): void => {
    if (row.kind !== 'folder') return
    const next = new Set(open)
    if (!next.delete(row.key)) {
      next.add(row.key)
      read(row.path, 0)
    }
    setOpen(next)
  }
  return { open, toggle, toReveal }
}

function Row({
  id,
  row,
  start,
  isActive,
  isShown,
  isSearch,
  choice,
  onToggle,
  onChoose,
}: {
  id: string
  row: TreeRow
  start: number
  isActive: boolean
  isShown: boolean
  isSearch: boolean
  choice: Choice
  onToggle: () => void
  onChoose: () => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const applyPosition = (element: HTMLDivElement | null): void => {
    element?.style.setProperty('transform', `translateY(${start}px)`)
    element?.style.setProperty('--level', String(row.level))
  }
  if (row.kind === 'gap')
    return (
      // biome-ignore lint/a11y/useFocusableInteractive: the tree keeps the focus
      <div
        ref={applyPosition}
        id={id}
        className={style.row}
        role="treeitem"
        aria-level={row.level}
        aria-selected={false}
      >
        <span className={style.gap} />
      </div>
    )
  const isFolder = row.kind === 'folder'
  const Chevron = isFolder && row.isOpen ? ChevronDown : ChevronRight
  const Icon = row.level === 1 ? Server : Folder
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree keeps the focus
    <div
      ref={applyPosition}
      id={id}
      className={style.row}
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.count}
      aria-selected={choice === 'on'}
      aria-expanded={isFolder ? row.isOpen : undefined}
      data-active={isActive || undefined}
      data-shown={isShown || undefined}
      onClick={onToggle}
    >
      <span className={style.chevron}>
        {isFolder && <Chevron size={16} strokeWidth={1.5} aria-hidden="true" />}
      </span>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Space does the same */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the row says whether it is selected */}
      <span
        className={style.check}
        data-choice={choice}
        title={choice === 'never' ? undefined : t('library.chooseOne')}
        onClick={(event) => {
          event.stopPropagation()
          onChoose()
        }}
      />
      {isFolder ? (
        <>
          <Icon size={16} strokeWidth={1.5} aria-hidden="true" className={style.icon} />
          <span className={style.title}>
            <SafeText text={untrusted(row.node.label)} maxCharacters={120} inline />
          </span>
          <span className={style.aside}>{number(row.node.resources + row.node.templates)}</span>
        </>
      ) : (
        <>
          <span className={style.title}>
            <SafeText text={untrusted(row.leaf.title)} maxCharacters={120} inline />
            <span className={style.uri}>
              {isSearch && `${row.leaf.server} · `}
              <SafeText text={untrusted(row.leaf.uri)} maxCharacters={160} inline />
            </span>
          </span>
          <span className={style.aside}>
            {row.leaf.isTemplate === true && <span>{t('library.template')}</span>}
            {row.leaf.isForPersonOnly === true && <span>{t('library.personOnly')}</span>}
            {row.leaf.priority !== undefined && row.leaf.isForPersonOnly !== true && (
              <span className={style.priority} title={t('library.priority')}>
                {number(row.leaf.priority)}
              </span>
            )}
            {row.leaf.tokens !== undefined && row.leaf.isForPersonOnly !== true && (
              <span>{t('library.about', { count: number(row.leaf.tokens) })}</span>
            )}
          </span>
        </>
      )}
    </div>
  )
}

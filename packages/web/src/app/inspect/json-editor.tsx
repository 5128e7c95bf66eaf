import {
  autocompletion,
  type Completion,
  type CompletionContext,
  closeBrackets,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { bracketMatching, HighlightStyle, syntaxHighlighting, syntaxTree } from '@codemirror/language'
import { type Diagnostic, forceLinting, linter } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { type ReactNode, useEffect, useRef } from 'react'
import { hostSentence } from '../i18n/i18n.ts'
import { describeSchema, issuesOf, type Schema } from './schema.ts'

type SyntaxNode = ReturnType<ReturnType<typeof syntaxTree>['resolveInner']>

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: tags.number, color: 'var(--info)' },
  { tag: [tags.bool, tags.null], color: 'var(--warn)' },
])

const look = EditorView.theme({
  '&': { border: '1px solid var(--edge)', borderRadius: 'var(--radius)', background: 'var(--page)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { font: 'var(--code)', maxHeight: '420px', minHeight: '96px' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--accent-tint)' },
  '.cm-tooltip': {
    background: 'var(--raised)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    boxShadow: 'var(--shadow)',
    color: 'var(--ink)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent-tint)', color: 'var(--ink)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--danger)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
})

/** A JSON editor with syntax colours, completions of the schema, and validation issues at their positions. */
export default function JsonEditor({
  text,
  label,
  schema,
  onChange,
}: {
  text: string
  label: string
  schema?: Schema
  onChange: (text: string) => void
}): ReactNode {
  const container = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useRef(onChange)
  changed.current = onChange
  const first = useRef(text)
  useEffect(() => {
    if (container.current === null) return
    const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.nonce ?? ''
    const editor = new EditorView({
      parent: container.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.cspNonce.of(nonce),
          history(),
          json(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ override: [(context) => completionsAt(context, schema)], icons: false }),
          linter(jsonParseLinter(), { delay: 300 }),
          linter((editor) => diagnosticsOf(editor, schema), { delay: 300 }),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          // Tab leaves the editor, as any other field.
          keymap.of([
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'),
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [label, schema])
  useEffect(() => {
    first.current = text
    const editor = view.current
    if (editor === undefined || editor.state.doc.toString() === text) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } })
    forceLinting(editor)
  }, [text])
  return <div ref={container} />
}

/** The member names and item indexes that lead to a node. */
function pathTo(state: EditorState, node: SyntaxNode): string[] {
  const path: string[] = []
  for (let current: SyntaxNode | null = node; current !== null; current = current.parent) {
    const { parent } = current
    if (parent?.name === 'Property') path.unshift(nameOf(state, parent))
    else if (parent?.name === 'Array') {
      let n = 0
      for (let before = current.prevSibling; before !== null; before = before.prevSibling)
        if (isValue(before)) n += 1
      if (isValue(current)) path.unshift(String(n))
    }
  }
  return path
}

const isValue = ({ name }: SyntaxNode): boolean =>
  /^(?:Object|Array|String|Number|True|False|Null)$/.test(name)

function nameOf(state: EditorState, property: SyntaxNode): string {
  const name = property.getChild('PropertyName')
  return name === null ? '' : unquoted(state.sliceDoc(name.from, name.to))
}

function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : text
  } catch {
    return text.replaceAll('"', '')
  }
}

function schemaAt(path: readonly string[], root: Schema): Schema | undefined {
  let schema: Schema | undefined = root
  for (const part of path) {
    if (schema === undefined) return undefined
    const { properties, items } = describeSchema(schema, root)
    schema = properties.find(([name]) => name === part)?.[1] ?? items
  }
  return schema
}

function completionsAt(
  context: CompletionContext,
  root: Schema | undefined,
): { from: number; options: Completion[] } | null {
  if (root === undefined) return null
  const { state, pos } = context
  const node = syntaxTree(state).resolveInner(pos, -1)
  const isName = node.name === 'PropertyName' || node.name === 'Object' || node.name === '{'
  if (isName) {
    const object =
      node.name === 'Object' ? node : node.name === '{' ? node.parent : (node.parent?.parent ?? null)
    if (object === null) return null
    const path = pathTo(state, object)
    const schema = schemaAt(path, root)
    if (schema === undefined) return null
    const present = new Set(object.getChildren('Property').map((property) => nameOf(state, property)))
    const { properties, required } = describeSchema(schema, root)
    const isQuoted = node.name === 'PropertyName'
    return {
      from: isQuoted ? node.from : pos,
      options: properties
        .filter(([name]) => !present.has(name) || (isQuoted && nameOf(state, node.parent ?? node) === name))
        .map(([name, property]) => ({
          label: JSON.stringify(name),
          detail: describeSchema(property, root).kind,
          boost: required.has(name) ? 1 : 0,
          apply:
            isQuoted && node.parent?.lastChild?.name !== 'PropertyName'
              ? JSON.stringify(name)
              : `${JSON.stringify(name)}: `,
        })),
    }
  }
  const valueNode = node.name === 'Property' ? (node.lastChild ?? node) : node
  const property = valueNode.parent
  const path =
    property?.name === 'Property'
      ? [...pathTo(state, property), nameOf(state, property)]
      : pathTo(state, valueNode)
  const schema = schemaAt(path, root)
  if (schema === undefined) return null
  const { choices, kind } = describeSchema(schema, root)
  const values = choices?.map(({ value }) => value) ?? (kind === 'boolean' ? [true, false] : [])
  if (values.length === 0) return null
  return {
    from: isValue(valueNode) && pos > valueNode.from ? valueNode.from : pos,
    options: values.map((value) => ({ label: JSON.stringify(value) })),
  }
}

/** The validation issues of the text with their positions. */
function diagnosticsOf(view: EditorView, schema: Schema | undefined): Diagnostic[] {
  const { state } = view
  let value: unknown
  try {
    value = JSON.parse(state.doc.toString())
  } catch {
    return []
  }
  return issuesOf(schema, value).map(({ path, message }) => {
    const { from, to } = rangeOf(state, path)
    const shown = hostSentence(message)
    return { from, to, severity: 'warning', message: path === '' ? shown : `${path} ${shown}` }
  })
}

function rangeOf(state: EditorState, pointer: string): { from: number; to: number } {
  let node: SyntaxNode | null = syntaxTree(state).topNode.firstChild
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (node?.name === 'Object')
      node =
        node.getChildren('Property').find((property) => nameOf(state, property) === name)?.lastChild ?? node
    else if (node?.name === 'Array') {
      const items: SyntaxNode[] = []
      for (let child = node.firstChild; child !== null; child = child.nextSibling)
        if (isValue(child)) items.push(child)
      node = items[Number(name)] ?? node
    }
  }
  if (node === null) return { from: 0, to: state.doc.length }
  const line = state.doc.lineAt(node.from)
  return { from: node.from, to: Math.min(node.to, line.to) }
}

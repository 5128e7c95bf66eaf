import type { Nodes, Root } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { memo, type ReactNode, useMemo } from 'react'
import { SafeText } from './safe-text.tsx'
import style from './text.module.css'
import { plainText, type UntrustedText, untrusted } from './untrusted-text.ts'

/** A text of a model as Markdown: HTML in it is shown as text, images and links are shown as addresses and fetch nothing. */
export default function Markdown({ text }: { text: UntrustedText }): ReactNode {
  const tree = useMemo(
    (): Root => fromMarkdown(plainText(text), { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
    [text],
  )
  return <div className={style.prose}>{children(tree)}</div>
}

/** A text that grows at its end; only its last block is parsed again. */
export function GrowingMarkdown({ text }: { text: UntrustedText }): ReactNode {
  const blocks = blocksOf(plainText(text))
  return blocks.map((block, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only added at the end
    <Settled key={n} text={block} />
  ))
}

const Settled = memo(function Settled({ text }: { text: string }): ReactNode {
  return <Markdown text={untrusted(text)} />
})

/** Splits a text after empty lines outside of code, so that only the last block can change. */
export function blocksOf(text: string): string[] {
  const blocks: string[] = []
  let block = ''
  let fence: string | undefined
  let isGap = false
  for (const line of text.split(/(?<=\n)/)) {
    // Lists and quotations go on after an empty line.
    if (isGap && fence === undefined && !/^(?:\s|[-*+>]|\d+[.)]\s)/.test(line)) {
      blocks.push(block)
      block = ''
    }
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
    if (mark !== undefined && fence === undefined) fence = mark
    else if (mark !== undefined && fence !== undefined && mark.startsWith(fence)) fence = undefined
    block += line
    isGap = block.trim() !== '' && line.trim() === ''
  }
  if (block !== '') blocks.push(block)
  return blocks
}

function children(node: { children: readonly Nodes[] }): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: nodes of one text have no other identity
  return node.children.map((child, n) => <Node key={n} node={child} />)
}

const text = (value: string): ReactNode => <SafeText text={untrusted(value)} maxCharacters={200_000} />

function Node({ node }: { node: Nodes }): ReactNode {
  switch (node.type) {
    case 'paragraph':
      return <p>{children(node)}</p>
    case 'heading':
      return <h3>{children(node)}</h3>
    case 'strong':
      return <strong>{children(node)}</strong>
    case 'emphasis':
      return <em>{children(node)}</em>
    case 'delete':
      return <del>{children(node)}</del>
    case 'blockquote':
      return <blockquote>{children(node)}</blockquote>
    case 'list':
      return node.ordered === true ? (
        <ol start={node.start ?? 1}>{children(node)}</ol>
      ) : (
        <ul>{children(node)}</ul>
      )
    case 'listItem':
      return (
        <li>
          {node.checked != null && (node.checked ? '☑ ' : '☐ ')}
          {children(node)}
        </li>
      )
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0}>
          <code>{text(node.value)}</code>
        </pre>
      )
    case 'inlineCode':
      return <code>{text(node.value)}</code>
    case 'break':
      return <br />
    case 'thematicBreak':
      return <hr />
    case 'table':
      return (
        <table>
          <tbody>
            {node.children.map((row, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows of one text have no other identity
              <tr key={n}>
                {row.children.map((cell, column) => {
                  const Cell = n === 0 ? 'th' : 'td'
                  return (
                    // biome-ignore lint/suspicious/noArrayIndexKey: cells of one text have no other identity
                    <Cell key={column} data-align={node.align?.[column] ?? undefined}>
                      {children(cell)}
                    </Cell>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      )
    case 'link':
      return (
        <>
          {children(node)} <span className={style.address}>({text(node.url)})</span>
        </>
      )
    case 'image':
      return (
        <span className={style.address}>
          {text(node.alt ?? '')} ({text(node.url)})
        </span>
      )
    case 'text':
    case 'html':
      return text(node.value)
    default:
      return 'children' in node ? children(node) : 'value' in node ? text(node.value) : null
  }
}

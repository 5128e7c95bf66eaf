import { type ReactNode, useEffect, useState } from 'react'

type Component<Props> = (props: Props) => ReactNode

/**
 * A component whose code is loaded when it is first shown; until then `Fallback` is shown with the same properties. It takes the
 * place of `lazy` and `Suspense`, since React shows what replaces a fallback 300 ms after the fallback at the earliest. A loading
 * error is thrown on render, for the error boundary `Part` around it.
 */
export function loaded<Props extends object>(
  load: () => Promise<{ readonly default: Component<Props> }>,
  Fallback?: Component<Props>,
): Component<Props> {
  let component: Component<Props> | undefined
  return function Loaded(props) {
    const [failure, setFailure] = useState<{ readonly error: unknown }>()
    const [Content, setContent] = useState(() => component)
    useEffect(() => {
      if (Content !== undefined) return
      let isUnmounted = false
      load().then(
        (module) => {
          component = module.default
          if (!isUnmounted) setContent(() => component)
        },
        (error: unknown) => isUnmounted || setFailure({ error }),
      )
      return () => {
        isUnmounted = true
      }
    }, [Content])
    if (failure !== undefined) throw failure.error
    if (Content !== undefined) return <Content {...props} />
    return Fallback === undefined ? null : <Fallback {...props} />
  }
}

// With Node's own types: their AbortSignal and their Symbol.asyncDispose are meant.
import { OsSandbox } from "operon-os-sandbox";

const sandbox: AsyncDisposable = OsSandbox.disabled();
export const closed: PromiseLike<void> = sandbox[Symbol.asyncDispose]();
export const running = OsSandbox.disabled().machine().run(["true"], { signal: AbortSignal.timeout(1000) });

// @ts-expect-error: not a signal
OsSandbox.disabled().machine().run(["true"], { signal: 1000 });

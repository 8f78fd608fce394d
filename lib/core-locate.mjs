// The core has no "require" condition; import.meta.resolve knows "import" and what a loader adds.
export const locate = (name) => import.meta.resolve(name);

// As much of Foundation as gobind's headers name. BOOL is as on arm64.
#include <stdint.h>
typedef _Bool BOOL;
#define FOUNDATION_EXPORT extern
@protocol NSObject
@end
__attribute__((objc_root_class))
@interface NSObject <NSObject>
- (nonnull id)init;
@end
@interface NSString : NSObject
@end
@interface NSData : NSObject
@end
@interface NSError : NSObject
@end
